// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Positions of bits, found without a branch: the verifier walks each path that there
// is, and many of these would be too many.

#pragma once

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

/* A de Bruijn sequence: shifted left by n, its first 6 bits are those of no other n. */
#define DE_BRUIJN 0x03f79d71b4cb0a89ULL

/* n by those 6 bits. */
static const __u8 shifts[64] = {
	0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4,
	62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
	46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6,
};

/* Of a v that is not 0, as the two below. */
static __always_inline __u32 only_bit(__u64 v) { return shifts[v * DE_BRUIJN >> 58]; }

static __always_inline __u32 lowest_bit(__u64 v) { return only_bit(v & -v); }

static __always_inline __u32 highest_bit(__u64 v)
{
	for (int n = 1; n < 64; n *= 2)
		v |= v >> n;
	return only_bit(v ^ v >> 1);
}
