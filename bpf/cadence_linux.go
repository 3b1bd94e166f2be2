package bpf

import "linerate/internal/cadence"

// watch is what a program watched; nil if it saw no packet, or some on several CPUs
// at once, of which there is no telling the order.
func (c *trackCadence) watch() *cadence.Watch {
	if c.Seen == 0 || c.Broken != 0 {
		return nil
	}
	k := cadence.Kernel{
		Seen: c.Seen, Before: c.Before, First: int64(c.First), Last: int64(c.Last),
		Run: c.Run, LongestRun: c.LongestRun, LongestGap: int64(c.LongestGap), Gaps: c.Gaps[:],
	}
	for i, w := range []*trackExtremes{&c.Brief, &c.Lasting} {
		k.WindowEnd[i], k.WindowOpen[i] = int64(w.End), w.Open.load()
		k.Windows[i] = cadence.Window{N: w.N, Least: w.Least.load(), Most: w.Most.load()}
	}
	return cadence.Restore(&k)
}

func (l trackLoad) load() cadence.Load { return cadence.Load{Packets: l.Packets, Bytes: l.Bytes} }
