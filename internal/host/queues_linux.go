package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/safchain/ethtool"
)

// readDelivery looks at the queues and interrupts of a link.
func readDelivery(name string) *delivery {
	d := &delivery{cores: runtime.NumCPU()}
	device := filepath.Join("/sys/class/net", name)
	queues, _ := filepath.Glob(filepath.Join(device, "queues/rx-*"))
	d.queues = len(queues)
	for _, q := range queues {
		if text, err := os.ReadFile(filepath.Join(q, "rps_cpus")); err == nil && anyCore(string(text)) {
			d.steered = true
		}
	}
	irqs, _ := filepath.Glob(filepath.Join(device, "device/msi_irqs/*"))
	serving := map[string]bool{}
	for _, irq := range irqs {
		text, err := os.ReadFile(filepath.Join("/proc/irq", filepath.Base(irq), "effective_affinity_list"))
		if err != nil {
			continue
		}
		if n, known := countCores(string(text)); known && n == 1 {
			d.interrupts++
			serving[strings.TrimSpace(string(text))] = true
		}
	}
	d.served = len(serving)
	if e, err := ethtool.NewEthtool(); err == nil {
		defer e.Close()
		if c, err := e.GetCoalesce(name); err == nil {
			d.coalesced = int(c.RxCoalesceUsecs)
		}
	}
	return d
}
