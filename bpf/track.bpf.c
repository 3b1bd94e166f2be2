//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// The tracker of rx/track inside the kernel: it decides the same of each datagram,
// in integers, and keeps in maps what user space settles the accounts with.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "track.h"
#include "track_parse.h"
#include "track_window.h"

/* The header of internal/probe. */
#define MAGIC_DATA 0xb6d1
#define MAGIC_END 0xb6e1
#define PROBE_LEN 18
#define UNUSED_BITS (64 - 48) /* of a number or a time in 64 bits */

/* Records a time in a histogram laid out as HdrHistogram does for two digits. */
static __always_inline void record(struct spread *s, __s64 *up, __s64 *down, __s64 v)
{
	__u64 size = v < 0 ? -v : v;

	if (!s->count++) {
		s->min = v;
		s->max = v;
	} else if (v < s->min) {
		s->min = v;
	} else if (v > s->max) {
		s->max = v;
	}
	if (size >= 1ULL << REACH_BITS)
		size = (1ULL << REACH_BITS) - 1;

	__u32 shift = 0;

	if (size >> (DIGIT_BITS + 1))
		shift = highest_bit(size) - DIGIT_BITS;

	__u32 bucket = (shift << DIGIT_BITS) + (size >> shift);

	if (bucket < BUCKETS)
		(v < 0 ? down : up)[bucket]++;
}

/* Draws packets for percentiles that a drift is to be taken out of, each of the
 * lane as likely as any other: after n of them, the next is 1 to 2n / SAMPLE - 1
 * ahead. */
static __always_inline void draw(struct lane *l, __u32 cpu, const struct point *p)
{
	__u64 before = l->seen++;
	__u32 slot = before;

	if (before >= SAMPLE) {
		if (l->seen < l->pick)
			return;
		slot = bpf_get_prandom_u32() % SAMPLE;
		l->pick = l->seen + 1 + ((2 * l->seen - SAMPLE) * (bpf_get_prandom_u32() >> 16) >> 16) / SAMPLE;
	}
	slot += cpu * SAMPLE;

	struct point *drawn = bpf_map_lookup_elem(&samples, &slot);

	if (drawn)
		*drawn = *p;
}

/* Notes a first copy for what tells a drift: the extremes of each step. */
static __always_inline void observe(struct lane *l, __u32 cpu, struct point p)
{
	bool begun = l->seen;

	draw(l, cpu, &p);
	if (begun && p.sent < l->step)
		p.sent = l->step;
	if (begun && p.sent < l->step + STEP) {
		if (p.transit < l->low.transit)
			l->low = p;
		else if (p.transit > l->high.transit)
			l->high = p;
		return;
	}
	if (begun) {
		struct step s = {l->low, l->high};

		bpf_ringbuf_output(&events, &s, sizeof(s), BPF_RB_NO_WAKEUP);
	}
	l->step = p.sent;
	l->low = p;
	l->high = p;
}

/* How many of n more packets are to be counted. */
static __always_inline __u64 admit(__u64 n)
{
	__u64 before, left;

	if (!config.most)
		return n;
	before = __sync_fetch_and_add(&admitted, n);
	left = before < config.most ? config.most - before : 0;
	return left < n ? left : n;
}

/* Counts a packet of the test. */
static __always_inline void accept(struct flow *f, struct window *w, struct lane *l, __u32 cpu,
				   const struct arrival *a)
{
	if (!admit(1))
		return;

	bool first_copy = count(f, w, a);

	if (!f->place)
		f->place = __sync_fetch_and_add(&counting, 1) + 1;
	if (!first_copy)
		return;

	__u32 zero = 0;
	struct cadence *arrived = bpf_map_lookup_elem(&arrivals, &zero);

	if (arrived) {
		struct load l = {1, a->size};

		add_packets(arrived, a->at, &l, 0);
	}

	__u32 own = f->place - 1;

	if (own >= OWN_DELAYS)
		own = OWN_DELAYS + cpu;

	struct delays *d = bpf_map_lookup_elem(&delays, &own);

	if (!d)
		return;

	__s64 transit = (__s64)((a->at - a->sent - test.base) << UNUSED_BITS) >> UNUSED_BITS;

	record(&d->transit, d->up, d->down, transit);
	if (f->unique > 1) {
		__s64 ipdv = transit - f->transit;

		if (ipdv < 0)
			ipdv = -ipdv;
		f->jitter += ipdv - ((f->jitter + 8) >> 4); /* RFC 3550, appendix A.8 */
		if (a->seq == f->last_copy + 1)
			record(&d->ipdv, d->ipdvs, d->ipdvs, ipdv);
		else
			f->undefined++;
	}
	f->last_copy = a->seq;
	f->transit = transit;

	struct point p = {a->at - transit, transit};

	observe(l, cpu, p);
}

/* Counts the packet in doubt. It is apart for the verifier to see it once. */
__noinline int accept_doubt(struct flow *f, struct window *w, struct lane *l, const struct arrival *doubt)
{
	if (f && w && l && doubt)
		accept(f, w, l, bpf_get_smp_processor_id(), doubt);
	return 0;
}

/* Whether any link could have carried the packets that would be missing. */
static __always_inline bool plausible(const struct flow *f, const struct arrival *a)
{
	if (a->seq < f->next || a->seq - f->next <= SLACK)
		return true;
	return f->place && a->at > f->last &&
	       a->seq - f->next - SLACK <= (a->at - f->last) / RATE_NS * RATE_PACKETS;
}

/* Whether a number bears out the one in doubt. */
static __always_inline bool carries_on(const struct flow *f, const struct arrival *a)
{
	return f->doubts && f->doubt.run == a->run && f->doubt.seq != a->seq &&
	       a->seq - f->doubt.seq + WINDOW <= 2 * WINDOW;
}

/* Makes the test that of the first packet that counts; false if another CPU has
 * just begun with another run. */
static __always_inline bool start(const struct arrival *a, bool ipv6)
{
	__u32 run = a->run | RUN_KNOWN;
	__u32 was = __sync_val_compare_and_swap(&test.run, 0, run);

	if (!was) {
		test.ipv6 = ipv6;
		__sync_val_compare_and_swap(&test.base, 0, (a->at - a->sent) | BASE_KNOWN);
	}
	return !was || was == run;
}

/* Counts a number, unless it can't be; false if it is foreign until another bears
 * it out. */
static __always_inline bool judge(struct flow *f, struct window *w, struct lane *l, __u32 cpu,
				  const struct arrival *a, bool ipv6)
{
	const struct arrival *doubt = &f->doubt;
	__u64 doubts = f->doubts, copies;

	if (plausible(f, a)) {
		doubts = 0;
	} else if (!carries_on(f, a)) {
		if (doubts && doubt->run == a->run && doubt->seq == a->seq) {
			f->doubts++;
		} else {
			f->doubt = *a;
			f->doubts = 1;
		}
		return false;
	}
	f->doubts = 0;
	if (!test.run && !start(doubts ? doubt : a, ipv6))
		return false;
	if (doubts) {
		l->foreign -= doubts;
		accept_doubt(f, w, l, doubt);
		copies = admit(doubts - 1);
		f->duplicates += copies;
		f->other_bytes += copies * doubt->size;
	}
	accept(f, w, l, cpu, a);
	return true;
}

/* Takes a number to 64 bits (RFC 1982); false for one before the first, or one that
 * the sender never reached. */
static __always_inline bool unwrap(const struct flow *f, __u32 number, __u64 *seq)
{
	__s64 ahead = (__s64)((*seq - f->next) << UNUSED_BITS) >> UNUSED_BITS;

	if (!f->place)
		return true; /* there is nothing that it could be relative to */
	*seq = f->next + ahead;
	if (ahead < 0 && f->next < (__u64)-ahead)
		return false;
	if (limited != test.run)
		return true;

	__u64 *limit = bpf_map_lookup_elem(&limits, &number);

	return !limit || *seq < ~*limit;
}

struct waiting {
	__u32 *lock;
	bool locked;
};

static long try_lock(__u32 i, struct waiting *w)
{
	w->locked = !__sync_lock_test_and_set(w->lock, 1);
	return w->locked;
}

/* A flow may come by several queues and so on several CPUs at once. bpf_spin_lock()
 * allows no bpf_loop(). Who holds this lock runs with bottom halves off: it is always
 * another CPU that waits. */
static __always_inline bool lock(struct flow *f)
{
	struct waiting w = {&f->lock};

	if (!try_lock(0, &w))
		bpf_loop(1 << 20, try_lock, &w, 0);
	return w.locked;
}

static __always_inline void unlock(struct flow *f) { __sync_lock_test_and_set(&f->lock, 0); }

/* Counts a probe; false if it is foreign. */
static __always_inline bool probe(struct lane *l, __u32 cpu, const struct datagram *d)
{
	const __be64 *words = d->payload;
	__u64 first = bpf_be64_to_cpu(words[0]), second = bpf_be64_to_cpu(words[1]);
	__u32 number = first >> 16 & 0xffff;
	struct arrival a = {
		.seq = (first & 0xffff) << 32 | second >> 32,
		.sent = (second & 0xffffffff) << 16 | bpf_ntohs(*(const __be16 *)(words + 2)),
		.size = d->size,
		.run = first >> 32 & 0xffff,
	};

	if (test.run && test.run != (a.run | RUN_KNOWN)) {
		l->other_runs++;
		return false;
	}

	struct flow *f = bpf_map_lookup_elem(&flows, &number);
	struct window *w = bpf_map_lookup_elem(&windows, &number);

	if (!f || !w) {
		l->beyond_flows++;
		return false;
	}
	a.at = bpf_ktime_get_ns();
	if (!lock(f)) {
		l->contended++;
		return true;
	}

	bool ours = unwrap(f, number, &a.seq) && judge(f, w, l, cpu, &a, d->ipv6);

	unlock(f);
	if (ours && number >= l->flows)
		l->flows = number + 1;
	return ours;
}

enum verdict { OTHER, COUNTED, MARKER };

/* Counts what a frame holds. A MARKER is left to the caller to hand on. */
static __always_inline enum verdict track(const struct frame *f, struct datagram *d, struct lane **lane)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (!parse(f, d))
		return OTHER;

	struct lane *l = *lane = bpf_map_lookup_elem(&lanes, &cpu);

	if (!l)
		return OTHER;
	if (f->length > config.longest || f->merged) {
		l->superframes++;
		return COUNTED;
	}
	if (d->malformed) {
		l->malformed++;
		return COUNTED;
	}
	if (d->fragment)
		l->fragments++;
	if (d->tagged) {
		l->tagged++;
		l->tci = d->tci;
	}

	if (config.most && admitted >= config.most)
		return COUNTED;

	bool ours = d->here >= PROBE_LEN && d->payload + PROBE_LEN <= f->end;

	if (ours) {
		__be16 magic = *(__be16 *)d->payload;

		if (magic == bpf_htons(MAGIC_END) && d->here <= END_MAX)
			return MARKER;
		ours = magic == bpf_htons(MAGIC_DATA) && probe(l, cpu, d);
	}
	if (!ours)
		l->foreign++;
	return COUNTED;
}

/* Hands an end marker to user space; load copies from the frame. */
#define HAND_ON(load, ctx, d, l)                                                    \
	({                                                                          \
		struct marker *m = bpf_ringbuf_reserve(&events, sizeof(*m), 0);     \
		__u32 size = (d)->here;                                             \
                                                                                    \
		if (!m) {                                                           \
			(l)->foreign++;                                             \
		} else if (size > 0 && size <= sizeof(m->payload) &&                \
			   !load(ctx, (d)->before, m->payload, size)) {             \
			m->started = !!test.run;                                    \
			m->size = size;                                             \
			bpf_ringbuf_submit(m, BPF_RB_FORCE_WAKEUP);                 \
		} else {                                                            \
			bpf_ringbuf_discard(m, 0);                                  \
		}                                                                   \
	})

/* What was counted is dropped, but for fragments: the stack has the others. */
SEC("xdp.frags")
int track_xdp(struct xdp_md *ctx)
{
	struct frame f = {
		.data = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
	};
	struct datagram d = {};
	struct lane *l = NULL;

	/* The verifier knows which, and drops the other. */
	f.length = config.multi_buffer ? bpf_xdp_get_buff_len(ctx) : f.end - f.data;

	enum verdict verdict = track(&f, &d, &l);

	if (verdict == OTHER)
		return XDP_PASS;
	if (verdict == MARKER)
		HAND_ON(bpf_xdp_load_bytes, ctx, &d, l);
	return d.fragment ? XDP_PASS : XDP_DROP;
}

/* The most bytes that a probe needs in one piece. */
#define HEADERS_MAX (ETH_HLEN + VLAN_HLEN + IPV4_HLEN_MAX + sizeof(struct udphdr) + PROBE_LEN)

SEC("tcx/ingress")
int track_tc(struct __sk_buff *skb)
{
	bpf_skb_pull_data(skb, skb->len < HEADERS_MAX ? skb->len : HEADERS_MAX);

	struct frame f = {
		.data = (void *)(long)skb->data,
		.end = (void *)(long)skb->data_end,
		.length = skb->len,
		.tagged = skb->vlan_present,
		.tci = skb->vlan_tci,
		.merged = skb->gso_size,
	};
	struct datagram d = {};
	struct lane *l = NULL;

	enum verdict verdict = track(&f, &d, &l);

	if (verdict == OTHER)
		return TC_ACT_UNSPEC;
	if (verdict == MARKER)
		HAND_ON(bpf_skb_load_bytes, skb, &d, l);
	return d.fragment ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
