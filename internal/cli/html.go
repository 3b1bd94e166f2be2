package cli

import (
	"os"

	"github.com/spf13/cobra"

	"linerate/internal/report"
	"linerate/internal/result"
)

// htmlFlag lets a command write its report as a page beside what it prints.
func (o *output) htmlFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.html, "html", "", "write the report to a file as one self-contained page, too")
}

// writeHTML writes the page that was asked for.
func (o *output) writeHTML(r *result.Report) error {
	if o.html == "" {
		return nil
	}
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
