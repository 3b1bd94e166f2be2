// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// What rx/track/window.go, bursts.go and reorder.go do with a sequence number.

#pragma once

#include "bits.h"
#include "track.h"

static __always_inline __u64 word(__u64 seq) { return seq / 64 % (WINDOW / 64); }
static __always_inline __u64 bit(__u64 seq) { return 1ULL << seq % 64; }

static __always_inline void close_period(struct flow *f, struct window *w)
{
	__u64 length = f->run;
	__u32 kind = length - 1;

	if (!length)
		return;
	f->run = 0;
	w->gaps++;
	w->lost += length;
	if (length > w->longest)
		w->longest = length;
	if (length > BURSTS_EXACT)
		kind = BURSTS_EXACT + highest_bit(length) - highest_bit(BURSTS_EXACT + 1);
	if (kind < BURSTS)
		w->bursts[kind]++;
}

struct span {
	struct flow *f;
	struct window *w;
	__u64 from, to;
};

/* Makes the numbers a window before the next ones of a span final, as many as share
 * a word and a fate, and leaves their bits to the span, as missing. */
static long retire_some(__u32 i, struct span *s)
{
	__u64 shift = s->from % 64;
	__u64 missing = s->w->missing[word(s->from)] >> shift;
	__u64 others = missing & 1 ? ~missing : missing;
	__u64 n = others ? lowest_bit(others) : 64;

	if (s->from == s->to)
		return 1;
	if (n > 64 - shift)
		n = 64 - shift;
	if (n > s->to - s->from)
		n = s->to - s->from;
	if (missing & 1)
		s->f->run += n;
	else
		close_period(s->f, s->w);

	__u64 bits = ~0ULL >> (64 - n) << shift;

	s->w->missing[word(s->from)] |= bits;
	s->w->jumps[word(s->from)] &= ~bits;
	s->from += n;
	return 0;
}

/* Moves the window on to a number of at least next that arrived. */
static __always_inline void advance(struct flow *f, struct window *w, __u64 seq)
{
	__u64 ahead = seq - f->next;

	if (ahead || f->run || w->missing[word(seq)] & bit(seq)) {
		struct span s = {f, w, f->next, ahead < WINDOW ? seq + 1 : f->next + WINDOW};

		bpf_loop(WINDOW + 1, retire_some, &s, 0);
		if (ahead >= WINDOW)
			f->run += ahead - WINDOW + 1; /* never were in the window */
		w->missing[word(seq)] &= ~bit(seq);
	}
	f->next = seq + 1;
}

struct search {
	struct window *w;
	__u64 seq;
};

static long find_jump(__u32 i, struct search *s)
{
	__u64 jumps = s->w->jumps[word(s->seq)] >> s->seq % 64;

	if (jumps) {
		s->seq += lowest_bit(jumps);
		return 1;
	}
	s->seq = (s->seq | 63) + 1;
	return 0;
}

/* How many first copies back from this one the packet came that jumped over a
 * missing number: the earliest with a greater one. It is less than 2 * WINDOW. What
 * lies between was missing when that came, so its bits are none of a window before. */
static __always_inline __u64 extent(struct window *w, __u64 seq, __u64 position)
{
	struct search s = {w, seq + 1};

	bpf_loop(WINDOW / 64 + 1, find_jump, &s, 0);
	return (__u16)(position - w->positions[s.seq / 2 % (WINDOW / 2)]);
}

/* Files an arrival; true for a first copy. */
static __always_inline bool count(struct flow *f, struct window *w, const struct arrival *a)
{
	__u64 position = f->unique + 1, seq = a->seq;

	if (!f->place)
		f->first = a->at;
	f->last = a->at;
	if (seq >= f->next) {
		bool jump = seq > f->next;

		advance(f, w, seq);
		if (jump) {
			w->jumps[word(seq)] |= bit(seq);
			w->positions[seq / 2 % (WINDOW / 2)] = position;
		}
	} else if (f->next - seq > WINDOW) {
		f->beyond_window++;
		f->other_bytes += a->size;
		return false;
	} else if (!(w->missing[word(seq)] & bit(seq))) {
		f->duplicates++;
		f->other_bytes += a->size;
		return false;
	} else {
		__u64 e = extent(w, seq, position);

		w->missing[word(seq)] &= ~bit(seq);
		f->reordered++;
		if (e > f->extent)
			f->extent = e;
	}
	f->unique = position;
	f->unique_bytes += a->size;
	return true;
}
