// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What the tracker is told and what it keeps. Times are in ns.

#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "cadence.h"
#include "select.h"

/* The measures of rx/track. */
#define WINDOW 8192 /* numbers */
#define SLACK (8 * WINDOW)
#define RATE_PACKETS 3 /* that a link may have carried in RATE_NS */
#define RATE_NS 20
#define BURSTS_EXACT 63
#define BURSTS (BURSTS_EXACT + 58)
#define OWN_DELAYS 64 /* flows */
#define REACH_BITS 36
#define DIGIT_BITS 7 /* of a value that a histogram keeps besides the first */
#define BUCKETS ((REACH_BITS - DIGIT_BITS + 1) << DIGIT_BITS)
#define STEP 10000000
#define SAMPLE (1 << 14) /* packets */

/* The longest end marker of internal/probe. */
#define END_MAX 500

struct config {
	__be32 addr[4]; /* that is listened on, IPv4 mapped */
	__u16 mac[ETH_ALEN / 2];
	__u64 most;         /* packets to count; 0 for any number */
	__u32 longest;      /* bytes of the longest frame that is one packet, without FCS */
	__u32 any;          /* address will do */
	__u32 multi_buffer; /* a frame of XDP may be */
	struct selection selection;
};

/* What the first packet that counts makes of the test; 0 until it came. */
struct test {
	__u64 base; /* its transit modulo 2^48, with BASE_KNOWN */
	__u32 run;  /* with RUN_KNOWN */
	__u32 ipv6; /* its IP version is 6 */
};

#define BASE_KNOWN (1ULL << 63)
#define RUN_KNOWN (1U << 16)

struct arrival {
	__u64 seq;  /* unwrapped */
	__u64 sent; /* as the header has it */
	__u64 at;   /* CLOCK_MONOTONIC */
	__u32 size; /* payload bytes */
	__u32 run;
};

/* What user space reads of a flow at every tick. */
struct flow {
	__u64 next; /* the highest number that arrived, and one */
	__u64 unique;
	__u64 duplicates;
	__u64 beyond_window;
	__u64 reordered;
	__u64 unique_bytes; /* of payload */
	__u64 other_bytes;  /* of payload, of what is no first copy */
	__u64 extent;
	__u64 first, last; /* arrivals */
	__u64 last_copy;   /* number of the latest first copy */
	__s64 transit;     /* of the latest first copy */
	__s64 jitter;      /* times 16 */
	__u64 undefined;   /* first copies without an IPDV */
	__u64 run;         /* length of the loss period that the final numbers end in */
	__u64 doubts;      /* how often doubt came in a row */
	struct arrival doubt;
	__u32 place; /* in the order in which flows began to count, from 1; 0 until it does */
	__u32 lock;
};

/* What a flow needs besides. Number s is bit s modulo WINDOW. */
struct window {
	__u64 missing[WINDOW / 64];
	__u64 jumps[WINDOW / 64]; /* numbers that came before the one below them */
	/* Which first copy a jump was, modulo 2^16. A jump leaves out the number
	 * before it, so that no two are neighbours. */
	__u16 positions[WINDOW / 2];
	__u64 gaps, lost, longest; /* loss periods */
	__u64 bursts[BURSTS];
};

struct spread {
	__u64 count;
	__s64 min, max;
};

struct delays {
	struct spread transit, ipdv;
	__s64 up[BUCKETS], down[BUCKETS]; /* transits of at least 0, and below */
	__s64 ipdvs[BUCKETS];             /* sizes */
};

struct point {
	__s64 sent, transit;
};

/* What belongs to no flow, of one CPU. */
struct lane {
	__u64 foreign;
	__u64 other_runs;   /* of foreign, probes of another run */
	__u64 beyond_flows; /* of foreign, those of flows that there is no room for */
	__u64 contended;    /* not counted, as their flow stayed locked */
	__u64 superframes, malformed, fragments, tagged;
	__u64 seen, pick; /* first copies, and which of them is drawn next */
	__s64 step;       /* when the step's first packet was sent */
	struct point low, high;
	__u32 flows; /* the greatest number of a flow that counts, and one */
	__u32 tci;
};

/* Events are what user space has to see in order: the extremes of a step, or an
 * end marker. Their sizes tell them apart. */
struct step {
	struct point low, high;
};

struct marker {
	__u16 started; /* the test was, when it came */
	__u16 size;
	__u8 payload[END_MAX];
};

const volatile struct config config;
struct test test;
__u64 admitted; /* packets, where there are not to be more than config.most */
__u32 counting; /* flows that do */
__u32 limited;  /* run of the end marker that limits are from, with RUN_KNOWN; 0 before */

#define ARRAY(name, type_, n)                     \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__type(key, __u32);               \
		__type(value, type_);             \
		__uint(max_entries, n);           \
	} name SEC(".maps")

/* The loader makes room for all flows and CPUs. */
ARRAY(flows, struct flow, 1);
ARRAY(windows, struct window, 1);
ARRAY(limits, __u64, 1);      /* complement of what the sender counts of a flow */
ARRAY(delays, struct delays, OWN_DELAYS + 1); /* those of each CPU are for later flows */
ARRAY(lanes, struct lane, 1);
ARRAY(samples, struct point, SAMPLE);
ARRAY(arrivals, struct cadence, 1); /* of first copies, all flows */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");
