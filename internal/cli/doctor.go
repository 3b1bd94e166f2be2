package cli

import (
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/plan"
	"linerate/internal/report"
	"linerate/internal/result"
)

func newDoctor(stdio Stdio) *cobra.Command {
	out := output{stdio: stdio}
	cmd := &cobra.Command{
		Use:   "doctor [IFACE]",
		Short: "Say what on this machine would hold a test back, each with the command that mends it",
		Args:  exactly(0, 1, "at most one interface"),
		RunE: func(_ *cobra.Command, args []string) error {
			iface := ""
			if len(args) == 1 {
				iface = args[0]
			}
			return runDoctor(iface, &out)
		},
	}
	out.flags(cmd)
	return cmd
}

func runDoctor(iface string, out *output) error {
	findings, err := plan.Doctor(iface)
	if err != nil {
		return err
	}
	rep := &result.Report{
		Schema: result.Schema, Linerate: version(), Command: "doctor",
		Started: time.Now().Format(time.RFC3339Nano), Findings: findings,
	}
	out.begin()
	if err := out.finish(rep, func() error { return report.Doctor(out.stdio.Out, rep, out.options) }); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level != "ok" {
			return &exitError{status: exitThreshold}
		}
	}
	return nil
}
