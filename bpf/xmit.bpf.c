//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Transmits: stamps the frames that BPF_PROG_RUN makes of a template
// (BPF_F_TEST_XDP_LIVE_FRAMES) and redirects them to an interface.
//
// The kernel queues redirected frames in bulks of 16 (DEV_MAP_BULK_SIZE) for the
// driver, which may take only the first few of one. With runs in batches of 16
// frames a bulk has gone to the driver before the next frame is made, so a frame
// that the driver did not take leaves its number to the next one that is made:
// no number is skipped on the wire, and "next" counts what the driver took.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "cadence.h"

#define ENODEV 19
#define SIGURG 23 /* the Go runtime sends it to itself all the time */
#define NS_PER_SEC 1000000000ULL
#define NS_PER_USEC 1000

enum format { NATIVE, IPERF2, IPERF3, IPERF3_WIDE }; /* as in internal/probe */

struct settings {
	__s64 wall_offset; /* ns from CLOCK_MONOTONIC to CLOCK_REALTIME */
	__u32 udp;	   /* where the UDP header starts */
	__u32 format;
};

/* The longest headers, IPv6's behind a tag, in words of what is copied at once; the
 * last word may reach into the payload. */
#define HEADER_WORDS 9

/* Between runs it is user space's. */
struct state {
	__u64 next;    /* number of the next packet: the first that the driver has not taken */
	__u64 sum;     /* of the datagram's words where the stamp is zero */
	__u64 stop;    /* lets no frame leave; set by the first refusal too */
	__u64 refused; /* frames of this run that the driver did not take */
	__u64 error;   /* why, as an errno; 0 for want of room */
	__u64 owner;   /* processor + 1 while it holds frames in its bulk; else 0 */
	__u64 bulk;    /* frames in the bulk */
	__u64 first;   /* number of the run's first packet */
	__u64 due;     /* CLOCK_MONOTONIC in ns at which that is due */
	__u64 gap;     /* between two packets, in 2^-GAP_BITS ns; 0 sends all at once */
	__u64 payload; /* bytes of a packet */
	__u64 began;   /* when the first frame of the bulk, or of the one before, was made */
	__u64 begun;   /* its number */
	__u64 headers[HEADER_WORDS]; /* of the run's frames, as they begin */
};

#define GAP_BITS 20

/* What left on time, of all runs that have a gap. */
struct departures {
	__u64 late; /* packets that left more than the gaps of a bulk, and LATE_FLOOR, after they were due */
	struct cadence cadence;
};

#define LATE_FLOOR 10000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct departures);
} departures SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} state SEC(".maps");

/* The interface. A map knows it also when a run is started from another network
 * namespace than its own, in which its index would be another's. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} egress SEC(".maps");

const volatile struct settings settings;

/* The payload headers of internal/probe: what a packet's own stamp writes. */
struct native {
	__be16 magic, run, flow;
	__be16 seq[3];
	__be16 sent[3];
};

struct iperf2 {
	__be32 id, sec, usec, id_high;
};

struct iperf3 {
	__be32 sec, usec, number;
};

struct iperf3_wide {
	__be32 sec, usec, high, low;
};

static __always_inline struct state *get_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&state, &zero);
}

/* The sum of a word's two halves; what is added up has to be of one byte order. */
static __always_inline __u64 halves(__be32 word)
{
	return (word & 0xffff) + (word >> 16);
}

/* Writes a 48-bit number and returns the sum of its words. */
static __always_inline __u64 put48(__be16 *at, __u64 v)
{
	at[0] = bpf_htons(v >> 32);
	at[1] = bpf_htons(v >> 16);
	at[2] = bpf_htons(v);
	return (__u64)at[0] + at[1] + at[2];
}

/* Writes the stamp of a packet; returns the sum of its words, or -1 if the
 * payload is too short. */
static __always_inline __s64 stamp(void *at, void *end, __u64 seq, __u64 now)
{
	__u64 wall = now + settings.wall_offset;
	__be32 sec = bpf_htonl(wall / NS_PER_SEC);
	__be32 usec = bpf_htonl(wall % NS_PER_SEC / NS_PER_USEC);

	if (settings.format == IPERF2) {
		struct iperf2 *h = at;

		if ((void *)(h + 1) > end)
			return -1;
		h->id = bpf_htonl(seq + 1);
		h->id_high = bpf_htonl((seq + 1) >> 32);
		h->sec = sec;
		h->usec = usec;
		return halves(h->id) + halves(h->id_high) + halves(sec) + halves(usec);
	}
	if (settings.format == IPERF3) {
		struct iperf3 *h = at;

		if ((void *)(h + 1) > end)
			return -1;
		h->number = bpf_htonl(seq + 1);
		h->sec = sec;
		h->usec = usec;
		return halves(h->number) + halves(sec) + halves(usec);
	}
	if (settings.format == IPERF3_WIDE) {
		struct iperf3_wide *h = at;

		if ((void *)(h + 1) > end)
			return -1;
		h->high = bpf_htonl((seq + 1) >> 32);
		h->low = bpf_htonl(seq + 1);
		h->sec = sec;
		h->usec = usec;
		return halves(h->high) + halves(h->low) + halves(sec) + halves(usec);
	}

	struct native *h = at;

	if ((void *)(h + 1) > end)
		return -1;
	return put48(h->seq, seq) + put48(h->sent, now);
}

/* Lays the headers again. A veth's peer gets the very page, and its stack writes into
 * it: GRO the lengths of what it merges, a router the TTL and the next hop's MAC. */
static __always_inline int lay_headers(__u64 *to, void *end, const struct state *s)
{
	const __u32 length = settings.udp + sizeof(struct udphdr);

	if ((void *)to + (length + 7) / 8 * 8 > end)
		return 0;
	/* "length" is constant to the verifier, which drops what is beyond it. */
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < HEADER_WORDS; i++)
		if (i * 8 < length)
			to[i] = s->headers[i];
	return 1;
}

static __always_inline __sum16 udp_checksum(__u64 sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = ~sum & 0xffff;
	return sum ? sum : 0xffff; /* 0 would say that there is none */
}

/* Counts frames that did not leave, and lets no more leave in this run. */
static __always_inline void refuse(struct state *s, __u32 frames, __s32 err)
{
	s->stop = 1;
	s->refused += frames;
	s->error = -err;
}

/* Takes back the frame that was made last. */
static __always_inline void take_back(struct state *s, __s32 err)
{
	if (!--s->bulk)
		s->owner = 0;
	refuse(s, 1, err);
}

/* When a packet of the run is due. */
static __always_inline __u64 due(const struct state *s, __u64 number)
{
	return s->due + ((number - s->first) * s->gap >> GAP_BITS);
}

struct waiting {
	__u64 until, now;
};

static long look(__u32 i, struct waiting *w)
{
	w->now = bpf_ktime_get_ns();
	return w->now >= w->until;
}

/* More than two gaps of 50 us and what a run is begun ahead of its time, at 20 ns a
 * look: bottom halves wait as long. */
#define LOOKS (1 << 14)

/* Waits until a bulk may begin: when its first packet is due, and in debt no sooner
 * after the one before than 5/4 of the rate allows. False if that is too far off. */
static __always_inline bool wait(struct state *s)
{
	struct waiting w = {.until = due(s, s->next)};

	if (s->began) {
		__u64 repaid = s->began + ((s->next - s->begun) * s->gap * 4 / 5 >> GAP_BITS);

		if (repaid > w.until)
			w.until = repaid;
	}
	bpf_loop(LOOKS, look, &w, 0);
	s->began = w.now;
	s->begun = s->next;
	return w.now >= w.until;
}

/* Begins a bulk. Its frames go to the driver together, and have one time. */
static __always_inline bool begin(struct state *s)
{
	if (s->gap)
		return wait(s);
	s->began = bpf_ktime_get_ns();
	return true;
}

SEC("xdp")
int xmit(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct udphdr *udp = (void *)(long)ctx->data + settings.udp;
	struct state *s = get_state();

	if (!s || s->stop || (void *)(udp + 1) > end)
		return XDP_DROP;

	if (!s->bulk && !begin(s))
		return XDP_DROP;

	/* The page may hold an earlier frame of this run. */
	if (!lay_headers((void *)(long)ctx->data, end, s))
		return XDP_DROP;

	__s64 sum = stamp(udp + 1, end, s->next + s->bulk, s->began);

	if (sum < 0)
		return XDP_DROP;
	udp->check = udp_checksum(s->sum + sum);
	s->owner = bpf_get_smp_processor_id() + 1;
	s->bulk++;

	int action = bpf_redirect_map(&egress, 0, XDP_DROP);

	if (action != XDP_REDIRECT) /* the interface is gone */
		take_back(s, -ENODEV);
	return action;
}

/* The state, if this event is of a frame of its own: while a processor makes
 * frames nothing else on it can redirect any (bottom halves are off). */
static __always_inline struct state *own_state(void)
{
	struct state *s = get_state();

	return s && s->owner == bpf_get_smp_processor_id() + 1 ? s : NULL;
}

/* Notes what left of a bulk whose first packet had a number. */
static __always_inline void depart(const struct state *s, __u64 number, __u64 packets)
{
	struct load l = {packets, packets * s->payload};
	__u64 took = packets * s->gap >> GAP_BITS;
	__u32 zero = 0;
	struct departures *d = bpf_map_lookup_elem(&departures, &zero);

	if (!d || !packets)
		return;
	if (!d->cadence.seen)
		d->cadence.start = s->due;
	add_packets(&d->cadence, s->began, &l, s->gap >> GAP_BITS);
	if (s->began > due(s, number) + (took > LATE_FLOOR ? took : LATE_FLOOR))
		d->late += packets;
}

/* A bulk went to the driver: from, to, sent, drops, err. */
SEC("raw_tracepoint/xdp_devmap_xmit")
int transmitted(struct bpf_raw_tracepoint_args *ctx)
{
	struct state *s = own_state();
	__u32 sent = ctx->args[2], drops = ctx->args[3];

	if (!s)
		return 0;
	s->owner = 0;
	s->bulk = 0;
	if (s->gap)
		depart(s, s->next, sent);
	s->next += sent;
	if (drops) {
		refuse(s, drops, ctx->args[4]);
		bpf_send_signal_thread(SIGURG); /* ends the run at its next batch */
	}
	return 0;
}

/* A frame did not get into the bulk: dev, program, target, err. */
SEC("raw_tracepoint/xdp_redirect_err")
int rejected(struct bpf_raw_tracepoint_args *ctx)
{
	struct state *s = own_state();

	if (s)
		take_back(s, ctx->args[3]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
