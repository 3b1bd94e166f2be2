package host

import "strings"

// driverCounters are drivers' own names (ethtool -S) for what the kernel's link
// statistics often lack, by what they mean to the ledger. Names of one row are
// synonyms, so that the largest stands for all.
var driverCounters = map[string][]string{
	// The host took frames off the NIC too slowly: its memory for them was full.
	"ethtool_missed": {"rx_missed_errors", "rx_missed", "rx_discards_phy", "port.rx_dropped", "rx_fifo_errors", "rx_overruns"},
	// No buffer stood ready for a frame.
	"ethtool_no_buffer": {"rx_no_buffer_count", "rx_out_of_buffer", "rx_no_dma_resources", "rx_alloc_failed", "rx_nobuf", "rx_drops"},
	"ethtool_crc":       {"rx_crc_errors", "rx_crc_errors_phy", "port.rx_crc_errors", "rx_fcs_errors"},
	// Ethernet flow control: the other end was told to wait, or told us to.
	"ethtool_pause_rx": {"rx_flow_control_xoff", "rx_pause_ctrl_phy", "port.link_xoff_rx", "rx_pause_frames", "rx_pause", "rx_flow_control_pause"},
	"ethtool_pause_tx": {"tx_flow_control_xoff", "tx_pause_ctrl_phy", "port.link_xoff_tx", "tx_pause_frames", "tx_pause", "tx_flow_control_pause"},
	// A cloud's own limits (the ena driver of Amazon EC2).
	"ethtool_allowance_out": {"bw_out_allowance_exceeded"},
	"ethtool_allowance_in":  {"bw_in_allowance_exceeded"},
	"ethtool_allowance_pps": {"pps_allowance_exceeded"},
}

// classify picks the well-known ones of a driver's counters.
func classify(stats map[string]uint64, counters map[string]uint64) {
	for class, names := range driverCounters {
		for _, name := range names {
			if n, has := stats[name]; has {
				counters[class] = max(counters[class], n)
			}
		}
	}
	if n, known := xdpDrops(stats); known {
		counters["ethtool_xdp_drops"] = n
	}
}

// xdpDrops is what XDP programs dropped. Some drivers count it in all (mlx5:
// rx_xdp_drop), some by queue (veth: rx_queue_0_xdp_drops), some both.
func xdpDrops(stats map[string]uint64) (n uint64, known bool) {
	var all, queues uint64
	for name, count := range stats {
		switch {
		case !strings.HasSuffix(name, "xdp_drop") && !strings.HasSuffix(name, "xdp_drops"):
			continue
		case strings.HasPrefix(name, "rx_xdp_"):
			all = count
		default:
			queues += count
		}
		known = true
	}
	return max(all, queues), known
}
