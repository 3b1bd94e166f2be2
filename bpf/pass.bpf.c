//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Passes every frame on to the stack. Its mere presence makes a veth use NAPI,
// without which the veth swallows the frames that XDP sends to it.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
