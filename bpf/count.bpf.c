//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// An independent witness for tests: counts the UDP datagrams to a port before
// any other part of the host sees them.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_FRAGMENT 0x3fff /* more fragments, or an offset */

struct totals {
	__u64 data;
	__u64 end;
	__u64 other;
	__u64 data_bytes;
	__u64 first_ns;
	__u64 last_ns;
};

struct filter {
	__u16 port, data_magic, end_magic; /* host order */
	__u16 drop;
	__u64 every; /* keeps the arrival of each so manieth; 0 of none */
	__u64 trial_every; /* and after each so manieth of those a trial of the core; 0 of none */
};

struct vlan_hdr {
	__be16 tci;
	__be16 proto;
};

const volatile struct filter filter;
struct totals totals;
__u64 arrived; /* all but end markers */

/* Arrivals in CLOCK_MONOTONIC ns; the loader makes room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stamps SEC(".maps");

struct trial {
	__u64 at;
	__u64 took;
};

/* As the stamps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trial);
} trials SEC(".maps");

__u64 worked; /* keeps the compiler from leaving the work out */

/* Times a fixed piece of work that keeps all units of a core busy, so that it takes longer
 * while another hardware thread shares them. */
static __always_inline void try_core(__u32 place)
{
	struct trial *trial = bpf_map_lookup_elem(&trials, &place);

	if (!trial)
		return;

	__u64 a = place, b = 2, c = 3, d = 4, e = 5, f = 6;
	__u64 begun = bpf_ktime_get_ns();

#pragma clang loop unroll(disable)
	for (int i = 0; i < 250; i++) {
		a += 7;
		b ^= 9;
		c += 5;
		d ^= i;
		e += 3;
		f ^= 2;
		a ^= i;
		b += 1;
		c ^= i;
		d += 2;
		e ^= i;
		f += 4;
	}
	worked = a + b + c + d + e + f;
	trial->took = bpf_ktime_get_ns() - begun;
	trial->at = begun;
}

static __always_inline void add(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

/* Keeps when a datagram came, while there is room. */
static __always_inline void keep(void)
{
	__u64 n = __sync_fetch_and_add(&arrived, 1);

	if (!filter.every || n % filter.every)
		return;

	__u32 place = n / filter.every;
	__u64 *stamp = bpf_map_lookup_elem(&stamps, &place);

	if (stamp)
		*stamp = bpf_ktime_get_ns();
	if (filter.trial_every && place % filter.trial_every == 0)
		try_core(place / filter.trial_every);
}

/* The payload of a whole UDP datagram to the port, or NULL. */
static __always_inline void *payload(void *at, void *end)
{
	struct ethhdr *eth = at;

	if (at + sizeof(*eth) > end)
		return NULL;
	at += sizeof(*eth);

	__be16 proto = eth->h_proto;

	if (proto == bpf_htons(ETH_P_8021Q)) {
		struct vlan_hdr *tag = at;

		if (at + sizeof(*tag) > end)
			return NULL;
		at += sizeof(*tag);
		proto = tag->proto;
	}

	if (proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if (at + sizeof(*ip) > end || ip->protocol != IPPROTO_UDP ||
		    ip->frag_off & bpf_htons(IP_FRAGMENT))
			return NULL;
		at += ip->ihl * 4;
	} else if (proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = at;

		if (at + sizeof(*ip) > end || ip->nexthdr != IPPROTO_UDP)
			return NULL;
		at += sizeof(*ip);
	} else {
		return NULL;
	}

	struct udphdr *udp = at;

	if (at + sizeof(*udp) > end || udp->dest != bpf_htons(filter.port))
		return NULL;
	return at + sizeof(*udp);
}

SEC("xdp.frags")
int count(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	__be16 *magic = payload((void *)(long)ctx->data, end);

	if (!magic)
		return XDP_PASS;

	__u16 kind = (void *)(magic + 1) > end ? 0 : bpf_ntohs(*magic);

	if (kind != filter.end_magic)
		keep();

	if (kind == filter.data_magic) {
		__u64 now = bpf_ktime_get_ns();

		add(&totals.data, 1);
		add(&totals.data_bytes, bpf_xdp_get_buff_len(ctx));
		if (!totals.first_ns)
			totals.first_ns = now;
		totals.last_ns = now;
	} else if (kind == filter.end_magic) {
		add(&totals.end, 1);
	} else {
		add(&totals.other, 1);
	}
	return filter.drop ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
