package rx

import (
	"testing"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// xdp makes a program that can call the tracker's.
func xdp(tb testing.TB, code ...asm.Instruction) *cebpf.Program {
	tb.Helper()
	p, err := cebpf.NewProgram(&cebpf.ProgramSpec{
		Type: cebpf.XDP, AttachType: cebpf.AttachXDP, License: "GPL", Instructions: code,
	})
	must(tb, err)
	tb.Cleanup(func() { p.Close() })
	return p
}

// counting gives a program a frame whose sequence number, at an offset, is one
// more each time.
func counting(tb testing.TB, seq int16, to *cebpf.Program) *cebpf.Program {
	tb.Helper()
	calls, err := cebpf.NewMap(&cebpf.MapSpec{
		Type: cebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1,
		Contents: []cebpf.MapKV{{Key: uint32(0), Value: uint32(to.FD())}},
	})
	must(tb, err)
	tb.Cleanup(func() { calls.Close() })
	return xdp(tb,
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data and data_end of struct xdp_md
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(seq)+8),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.LoadMem(asm.R5, asm.R2, seq, asm.DWord),
		asm.HostTo(asm.BE, asm.R5, asm.DWord),
		asm.Add.Imm(asm.R5, 1),
		asm.HostTo(asm.BE, asm.R5, asm.DWord),
		asm.StoreMem(asm.R2, seq, asm.R5, asm.DWord),
		asm.LoadMapPtr(asm.R2, calls.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol("out"),
		asm.Return(),
	)
}

// BenchmarkKernel is what the program takes for a packet in order, in ns less
// those of an empty program, and what of that is reading the clock. Of ten pieces
// the quickest counts: what else the machine does is no cost of the program.
func BenchmarkKernel(b *testing.B) {
	l := load(b, "[::]:5201")
	f := testFrame{src: client4, dst: server4, dstMAC: l.host.mac}
	const seq = 14 + 20 + 8 + 4 // and the flow's number before it
	run := func(p *cebpf.Program) float64 {
		best := time.Hour
		for piece := range 10 {
			n := b.N/10 + 1
			f.payload = numbered(uint64(piece * n))[:18]
			_, each, err := p.Benchmark(f.bytes(), n, nil)
			must(b, err)
			best = min(best, each)
		}
		return float64(best.Nanoseconds())
	}
	idle := run(counting(b, seq, xdp(b, asm.Mov.Imm(asm.R0, xdpDrop), asm.Return())))
	clock := run(counting(b, seq, xdp(b, asm.FnKtimeGetNs.Call(), asm.Mov.Imm(asm.R0, xdpDrop), asm.Return())))
	b.ResetTimer()
	all := run(counting(b, seq, l.prog))
	b.ReportMetric(all-idle, "ns/packet")
	b.ReportMetric(clock-idle, "ns/clock")
}
