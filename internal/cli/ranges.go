package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/plan"
)

// ranges are the ports that the flows of send take in turn.
type ranges struct{ sport, dport plan.Ports }

func (w *ranges) flags(f *pflag.FlagSet, r *plan.SendRequest) {
	add(f, &r.Srcs, "src", "", "", "A-B", "source addresses, which the flows take in turn; others' than this host's by raw paths, in test networks only", plan.ParseAddrs)
	add(f, &r.Dsts, "dst", "", "", "A-B", "destination addresses, in place of HOST; raw frames go to the first one's next hop", plan.ParseAddrs)
	add(f, &w.sport, "sport", "", "", "A-B", "source ports, which the flows take in turn", plan.ParsePorts)
	add(f, &w.dport, "dport", "", "", "A-B", "destination ports, in place of --port", plan.ParsePorts)
}

// apply adds the ranges and HOST to a request.
func (w *ranges) apply(cmd *cobra.Command, r *plan.TestRequest, args []string) error {
	if len(args) == 1 {
		r.Host = args[0]
	} else if r.Dsts.N == 0 {
		return &plan.UsageError{Msg: fmt.Sprintf("linerate %s takes one HOST[:PORT], or --dst", cmd.Name())}
	}
	if r.TCP {
		if err := onlyUDP(cmd, "src", "dst", "sport", "dport"); err != nil {
			return err
		}
	}
	if w.sport.N > 0 {
		r.SrcPort, r.SrcPorts = w.sport.First, w.sport.N
	}
	if w.dport.N > 0 {
		if cmd.Flags().Changed("port") {
			return &plan.UsageError{Flag: "dport", Msg: "contradicts --port: give one of them"}
		}
		r.Port, r.DstPorts = int(w.dport.First), w.dport.N
	}
	if !r.TCP && !cmd.Flags().Changed("flows") {
		r.Flows = 0
	}
	return nil
}

// checkFilter refuses a filter that other arguments contradict.
func checkFilter(cmd *cobra.Command, r *plan.RecvRequest) error {
	if r.Filter.DstPorts.N > 0 && cmd.Flags().Changed("port") {
		return &plan.UsageError{Flag: "filter", Msg: "dport contradicts --port: give one of them"}
	}
	return nil
}
