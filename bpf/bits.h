// SPDX-License-Identifier: GPL-2.0 OR MIT

#pragma once

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

/* How many bits it takes to write v. */
static __always_inline __u32 bit_length(__u64 v)
{
	__u32 n = 0;

	for (int half = 32; half >= 1; half /= 2) {
		if (v >> half) {
			v >>= half;
			n += half;
		}
	}
	return n + v;
}
