// Package bpf holds linerate's eBPF programs: their C sources, the objects made
// from them, and a typed loader for each. Nothing else imports cilium/ebpf.
//
// Every program is attached by an unpinned link, which goes with the process,
// also on SIGKILL. Interface indices are those of the calling thread's network
// namespace.
//
// Loading needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; the objects are committed, so that
// only their maker needs clang and libbpf's headers (Debian: clang, libbpf-dev).
package bpf

//go:generate -command bpf2go go run github.com/cilium/ebpf/cmd/bpf2go -tags linux -cc clang -cflags "-O2 -g -Wall -Werror -mcpu=v3 -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu"
//go:generate bpf2go impair impair.bpf.c
//go:generate bpf2go count count.bpf.c
//go:generate bpf2go pass pass.bpf.c
//go:generate bpf2go xmit xmit.bpf.c
//go:generate bpf2go -type selection -type spread -type cadence -type extremes -type load track track.bpf.c
//go:generate bpf2go -type selection xsk xsk.bpf.c
//go:generate bpf2go drop drop.bpf.c
