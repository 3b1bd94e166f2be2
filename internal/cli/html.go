package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"linerate/internal/report"
	"linerate/internal/result"
)

// htmlFlag lets a command write its report as a page beside what it prints.
func (o *output) htmlFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.html, "html", "", "write the report to a file as one self-contained page, too")
}

// writeHTML writes the page that was asked for. A report tells of the page that
// could not be written, and is printed all the same.
func (o *output) writeHTML(r *result.Report) error {
	if o.html == "" {
		return nil
	}
	err := o.createHTML(r)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("--html: %w", err)
	if r.Error == "" {
		r.Error = err.Error()
	}
	return &exitError{exitFailed, err}
}

func (o *output) createHTML(r *result.Report) error {
	f, err := os.Create(o.html)
	if err != nil {
		return err
	}
	if err := report.HTML(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
