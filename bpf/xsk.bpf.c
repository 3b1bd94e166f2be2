//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Hands the frames that a UDP socket on our address and ports would get to the
// AF_XDP socket of the queue that they came by, before anything else of the host
// sees them. Everything else passes.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "select.h"

#define IPV4_OFFSET 0x1fff
#define IPV6_OFFSET 0xfff8

struct destination {
	__be32 addr[4]; /* an IPv4 address is in the last word */
	__u8 mac[6];
	__u8 ipv4, ipv6; /* versions to take */
	__u8 any; /* of this host's addresses */
	struct selection selection;
};

struct vlan_hdr {
	__be16 tci;
	__be16 proto;
};

struct fragment_hdr {
	__u8 next;
	__u8 reserved;
	__be16 offset;
	__be32 id;
};

const volatile struct destination destination;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32); /* queue */
	__type(value, __u32); /* descriptor */
} sockets SEC(".maps");

/* To this host, or to a group. */
static __always_inline bool ours(struct ethhdr *eth)
{
	if (eth->h_dest[0] & 1)
		return true;
	for (int i = 0; i < ETH_ALEN; i++)
		if (eth->h_dest[i] != destination.mac[i])
			return false;
	return true;
}

/* Behind an IPv4 header that leads to the first bytes of a UDP datagram, or NULL. */
static __always_inline void *ipv4(struct iphdr *ip, void *end, __u32 tag)
{
	if (!destination.ipv4 || (void *)(ip + 1) > end || ip->protocol != IPPROTO_UDP ||
	    ip->frag_off & bpf_htons(IPV4_OFFSET))
		return NULL;
	if (!destination.any && ip->daddr != destination.addr[3])
		return NULL;
	if (!selects_header(&destination.selection, 0, 0, bpf_htonl(0xffff), ip->saddr, ip->tos, tag))
		return NULL;
	return (void *)ip + ip->ihl * 4;
}

static __always_inline void *ipv6(struct ipv6hdr *ip, void *end, __u32 tag)
{
	if (!destination.ipv6 || (void *)(ip + 1) > end)
		return NULL;
	for (int i = 0; i < 4; i++)
		if (!destination.any && ip->daddr.in6_u.u6_addr32[i] != destination.addr[i])
			return NULL;

	const __be32 *from = ip->saddr.in6_u.u6_addr32;

	if (!selects_header(&destination.selection, from[0], from[1], from[2], from[3], traffic_class(ip), tag))
		return NULL;
	if (ip->nexthdr == IPPROTO_UDP)
		return ip + 1;

	struct fragment_hdr *fragment = (void *)(ip + 1);

	if (ip->nexthdr != IPPROTO_FRAGMENT || (void *)(fragment + 1) > end ||
	    fragment->next != IPPROTO_UDP || fragment->offset & bpf_htons(IPV6_OFFSET))
		return NULL;
	return fragment + 1;
}

/* Leaves the time of arrival in front of the frame, where the driver lets it. */
static __always_inline void stamp(struct xdp_md *ctx)
{
	__u64 *at;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*at)))
		return;
	at = (void *)(long)ctx->data_meta;
	if ((void *)(at + 1) <= (void *)(long)ctx->data)
		*at = bpf_ktime_get_ns();
}

SEC("xdp.frags")
int xsk(struct xdp_md *ctx)
{
	void *at = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = at;

	if (at + sizeof(*eth) > end || !ours(eth))
		return XDP_PASS;
	at += sizeof(*eth);

	__be16 proto = eth->h_proto;
	__u32 tci = 0;

	if (proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD)) {
		struct vlan_hdr *tag = at;

		if (at + sizeof(*tag) > end)
			return XDP_PASS;
		at += sizeof(*tag);
		proto = tag->proto;
		tci = TAGGED | bpf_ntohs(tag->tci);
	}

	if (proto == bpf_htons(ETH_P_IP))
		at = ipv4(at, end, tci);
	else if (proto == bpf_htons(ETH_P_IPV6))
		at = ipv6(at, end, tci);
	else
		return XDP_PASS;

	struct udphdr *udp = at;

	if (!udp || (void *)(udp + 1) > end || !selects_ports(&destination.selection, udp))
		return XDP_PASS;
	stamp(ctx);
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
