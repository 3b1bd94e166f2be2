// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The watch of internal/cadence inside the kernel: gaps between packets, runs
// without a pause, and what came in windows of time. Times are in ns.

#pragma once

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "bits.h"

/* The measures of internal/cadence. A histogram is laid out as HdrHistogram does
 * for three digits. */
#define GAP_REACH_BITS 36
#define GAP_DIGIT_BITS 10
#define GAP_BUCKETS ((GAP_REACH_BITS - GAP_DIGIT_BITS + 1) << GAP_DIGIT_BITS)

/* Lengths of the windows. */
#define SHORT_WINDOW 100000000ULL
#define LONG_WINDOW 1000000000ULL

struct load {
	__u64 packets, bytes; /* of payload */
};

struct extremes {
	__u64 end; /* of the window that is open */
	struct load open;
	__u64 n; /* windows that are over */
	struct load least, most;
};

struct cadence {
	__u64 lock;   /* of who adds packets */
	__u64 broken; /* two did at once, and there is no telling their order */
	__u64 start;  /* of the windows; 0 for the first packet */
	__u64 seen;   /* packets */
	__u64 before; /* those before the last time */
	__u64 first, last;
	__u64 run, longest_run, longest_gap;
	struct extremes brief, lasting; /* of short windows and of long ones */
	__s64 gaps[GAP_BUCKETS];
};

static __always_inline void record_gap(struct cadence *c, __u64 gap, __u64 n)
{
	if (!n)
		return;
	if (gap > c->longest_gap)
		c->longest_gap = gap;
	if (gap >= 1ULL << GAP_REACH_BITS)
		gap = (1ULL << GAP_REACH_BITS) - 1;

	__u32 shift = 0;

	if (gap >> (GAP_DIGIT_BITS + 1))
		shift = highest_bit(gap) - GAP_DIGIT_BITS;

	__u32 bucket = (shift << GAP_DIGIT_BITS) + (gap >> shift);

	if (bucket < GAP_BUCKETS)
		c->gaps[bucket] += n;
}

static __always_inline void take_windows(struct extremes *w, const struct load *l, __u64 n)
{
	if (!w->n || l->bytes < w->least.bytes)
		w->least = *l;
	if (!w->n || l->bytes > w->most.bytes)
		w->most = *l;
	w->n += n;
}

static __always_inline void add_to_window(struct extremes *w, __u64 length, __u64 at, const struct load *l)
{
	if (at >= w->end) {
		struct load none = {};
		__u64 silent = (at - w->end) / length;

		take_windows(w, &w->open, 1);
		if (silent)
			take_windows(w, &none, silent);
		w->end += (silent + 1) * length;
		w->open = none;
	}
	w->open.packets += l->packets;
	w->open.bytes += l->bytes;
}

/* Adds packets that left or came at one time; nominal is the gap that there ought
 * to be between two, 0 for the mean so far. */
static __always_inline void add_packets(struct cadence *c, __u64 at, const struct load *l, __u64 nominal)
{
	if (c->broken)
		return;
	if (__sync_lock_test_and_set(&c->lock, 1)) {
		c->broken = 1;
		return;
	}
	if (!c->seen) {
		__u64 start = c->start ? c->start : at;

		c->brief.end = start + SHORT_WINDOW;
		c->lasting.end = start + LONG_WINDOW;
		c->first = at;
	} else {
		if (at < c->last)
			at = c->last;
		if (!nominal && c->seen > 1)
			nominal = (c->last - c->first) / (c->seen - 1);

		__u64 gap = at - c->last;

		record_gap(c, gap, 1);
		if (2 * gap >= nominal)
			c->run = 0;
	}
	record_gap(c, 0, l->packets - 1);
	c->run += l->packets;
	if (c->run > c->longest_run)
		c->longest_run = c->run;
	c->last = at;
	c->before = c->seen;
	c->seen += l->packets;
	add_to_window(&c->brief, SHORT_WINDOW, at, l);
	add_to_window(&c->lasting, LONG_WINDOW, at, l);
	__sync_lock_test_and_set(&c->lock, 0);
}
