//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// A bad wire. The program sits on the tc ingress (TCX) of one side of the middle
// host, redirects every frame to the other side, and on the way spoils chosen UDP
// datagrams. It counts what it did to the packet.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETH_FCS_LEN 4
#define VLAN_HLEN 4
#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */
#define PROBE_LEN 18
#define PROBE_FLOW 4 /* the 16-bit flow, then the 48-bit sequence */
#define SEQ_MASK ((1ULL << 48) - 1)
#define FLOWS 65536

struct rules {
	__u64 drop_every;
	__u64 drop_from, drop_to;
	__u64 drop_random; /* of 2^32 */
	__u64 seed;
	__u64 swap_every;
	__u64 dup_every;
	__u64 corrupt_every;
	__u64 delay_every;
	__u32 drop_above;
	__u32 out, detour; /* ifindex */
	__u16 port, magic; /* host order; 0 is any */
	__u8 mend;
};

struct counts {
	__u64 seen;
	__u64 dropped;
	__u64 dropped_random;
	__u64 dropped_above;
	__u64 swapped;
	__u64 duplicated;
	__u64 corrupted;
	__u64 delayed;
	__u64 superframes;
	__u64 outage;
};

const volatile struct rules rules;
volatile bool outage;
struct counts counts;

/* The sequence that each flow's swap still waits for; 0 for none. */
__u64 awaited[FLOWS];

struct datagram {
	__u32 udp; /* offset of the UDP header */
	__u32 len; /* of UDP header and payload */
	__u64 id;  /* flow and sequence of a probe, host order */
};

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* A whole UDP datagram to the port, with the magic where one is asked for.
 * Fragments and IPv6 extension headers are not followed. */
static __always_inline bool parse(struct __sk_buff *skb, struct datagram *d)
{
	__u32 off = ETH_HLEN;
	__be16 proto = skb->protocol;

	/* The kernel moved the outer tag to skb->vlan_tci; a second one is here. */
	if (proto == bpf_htons(ETH_P_8021Q)) {
		if (bpf_skb_load_bytes(skb, off + 2, &proto, sizeof(proto)))
			return false;
		off += VLAN_HLEN;
	}

	if (proto == bpf_htons(ETH_P_IP)) {
		struct iphdr ip;

		if (bpf_skb_load_bytes(skb, off, &ip, sizeof(ip)))
			return false;
		if (ip.protocol != IPPROTO_UDP || ip.frag_off & bpf_htons(IP_FRAGMENT))
			return false;
		off += ip.ihl * 4;
	} else if (proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr ip;

		if (bpf_skb_load_bytes(skb, off, &ip, sizeof(ip)))
			return false;
		if (ip.nexthdr != IPPROTO_UDP)
			return false;
		off += sizeof(ip);
	} else {
		return false;
	}

	struct udphdr udp;

	if (bpf_skb_load_bytes(skb, off, &udp, sizeof(udp)))
		return false;
	if (rules.port && udp.dest != bpf_htons(rules.port))
		return false;
	d->udp = off;
	d->len = bpf_ntohs(udp.len);
	if (!rules.magic)
		return true;

	__be16 magic;

	off += sizeof(udp);
	if (d->len < sizeof(udp) + PROBE_LEN ||
	    bpf_skb_load_bytes(skb, off, &magic, sizeof(magic)) ||
	    magic != bpf_htons(rules.magic) ||
	    bpf_skb_load_bytes(skb, off + PROBE_FLOW, &d->id, sizeof(d->id)))
		return false;
	d->id = bpf_be64_to_cpu(d->id);
	return true;
}

/* Ethernet bytes with tag and FCS. */
static __always_inline __u32 frame_len(struct __sk_buff *skb)
{
	return skb->len + (skb->vlan_present ? VLAN_HLEN : 0) + ETH_FCS_LEN;
}

/* splitmix64 of the packet's index: the same packets are lost on every run. */
static __always_inline __u32 draw(__u64 n)
{
	__u64 z = rules.seed + (n + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

static __always_inline bool every(__u64 n, __u64 k)
{
	return k && n % k == k - 1;
}

static __always_inline bool drop(struct __sk_buff *skb, __u64 n)
{
	if (every(n, rules.drop_every))
		return true;
	if (rules.drop_from <= n && n < rules.drop_to)
		return true;
	if (draw(n) < rules.drop_random) {
		count(&counts.dropped_random);
		return true;
	}
	if (rules.drop_above && frame_len(skb) > rules.drop_above) {
		count(&counts.dropped_above);
		return true;
	}
	return false;
}

/* Every helper below that mends the checksum leaves an unfinished one
 * (CHECKSUM_PARTIAL) alone, because that does not cover the payload yet, and an
 * absent one (0 in IPv4). */
#define MEND BPF_F_MARK_MANGLED_0

/* Gives the packet its neighbour's sequence number, so that the two arrive
 * exchanged. A swap counts when its second half passes and the first did. */
static __always_inline void swap(struct __sk_buff *skb, struct datagram *d)
{
	__u64 seq = d->id & SEQ_MASK;
	__u64 place = seq % rules.swap_every;
	__u64 *wait = &awaited[(d->id >> 48) & (FLOWS - 1)];
	__u64 other;

	if (place == rules.swap_every - 2) {
		other = seq + 1;
		*wait = other;
	} else if (place == rules.swap_every - 1) {
		other = seq - 1;
		if (*wait == seq)
			count(&counts.swapped);
		*wait = 0;
	} else {
		return;
	}

	__be64 from = bpf_cpu_to_be64(d->id);
	__be64 to = bpf_cpu_to_be64((d->id & ~SEQ_MASK) | (other & SEQ_MASK));
	__s64 diff = bpf_csum_diff((__be32 *)&from, sizeof(from), (__be32 *)&to, sizeof(to), 0);

	bpf_l4_csum_replace(skb, d->udp + offsetof(struct udphdr, check), 0, diff, MEND);
	bpf_skb_store_bytes(skb, d->udp + sizeof(struct udphdr) + PROBE_FLOW, &to, sizeof(to), 0);
}

/* Inverts the last byte of the payload. */
static __always_inline void corrupt(struct __sk_buff *skb, struct datagram *d)
{
	__u32 last = d->len - 1;
	__u8 from, to;

	if (d->len <= sizeof(struct udphdr) ||
	    bpf_skb_load_bytes(skb, d->udp + last, &from, sizeof(from)))
		return;
	to = ~from;
	if (rules.mend) {
		__u32 shift = last % 2 ? 0 : 8; /* which half of its 16-bit word */

		bpf_l4_csum_replace(skb, d->udp + offsetof(struct udphdr, check),
				    bpf_htons(from << shift), bpf_htons(to << shift),
				    MEND | sizeof(__be16));
	} else {
		/* GRO has checked the sum already, and the next host would trust it. */
		bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET);
	}
	bpf_skb_store_bytes(skb, d->udp + last, &to, sizeof(to), 0);
	count(&counts.corrupted);
}

SEC("tc")
int impair(struct __sk_buff *skb)
{
	struct datagram d = {};
	bool ours = parse(skb, &d);

	/* One verdict for many segments would be a lie. */
	if (ours && skb->gso_size) {
		count(&counts.superframes);
		ours = false;
	}

	__u64 n = ours ? __sync_fetch_and_add(&counts.seen, 1) : 0;

	if (outage) {
		count(&counts.outage);
		if (ours)
			count(&counts.dropped);
		return TC_ACT_SHOT;
	}
	if (!ours)
		return bpf_redirect(rules.out, 0);
	if (drop(skb, n)) {
		count(&counts.dropped);
		return TC_ACT_SHOT;
	}
	if (rules.swap_every)
		swap(skb, &d);
	if (every(n, rules.corrupt_every))
		corrupt(skb, &d);
	if (every(n, rules.dup_every) && !bpf_clone_redirect(skb, rules.out, 0))
		count(&counts.duplicated);
	if (every(n, rules.delay_every)) {
		count(&counts.delayed);
		return bpf_redirect(rules.detour, 0);
	}
	return bpf_redirect(rules.out, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
