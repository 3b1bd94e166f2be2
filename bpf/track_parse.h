// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// From a frame to the UDP datagram in it, as the filter and the parser of rx have it.

#pragma once

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#include "track.h"

#define VLAN_HLEN 4
#define IPV4_HLEN_MAX 60
#define IPV4_MORE 0x2000
#define IPV4_OFFSET 0x1fff
#define IPV6_MORE 0x0001
#define IPV6_OFFSET 0xfff8

struct frame {
	void *data, *end;
	__u32 length;
	__u32 tci;   /* of a tag that the kernel took out, if tagged */
	bool tagged;
	bool merged; /* several datagrams in one */
};

struct datagram {
	void *payload;
	__u32 before; /* bytes of headers */
	__u32 size;   /* payload bytes, from the UDP header */
	__u32 here;   /* of them, those in this frame */
	__u32 tci;    /* if tagged */
	bool ipv6, fragment, tagged, malformed;
};

struct vlan_hdr {
	__be16 tci;
	__be16 proto;
};

struct fragment_hdr { /* RFC 8200, section 4.5 */
	__u8 next, reserved;
	__be16 offset;
	__be32 id;
};

/* To this host or to many. */
static __always_inline bool for_us(const struct ethhdr *eth)
{
	const __u16 *to = (const __u16 *)eth->h_dest;

	return eth->h_dest[0] & 1 ||
	       (to[0] == config.mac[0] && to[1] == config.mac[1] && to[2] == config.mac[2]);
}

static __always_inline bool listens(__be32 a, __be32 b, __be32 c, __be32 d)
{
	return config.any || (a == config.addr[0] && b == config.addr[1] &&
			      c == config.addr[2] && d == config.addr[3]);
}

/* Finds a UDP datagram that is to be counted, or the first fragment of one, behind
 * at most two tags. It is malformed if its lengths contradict each other. */
static __always_inline bool parse(const struct frame *f, struct datagram *d)
{
	void *at = f->data, *end = f->end;
	struct ethhdr *eth = at;

	if (at + sizeof(*eth) > end || !for_us(eth))
		return false;
	at += sizeof(*eth);
	d->before = sizeof(*eth);

	__be16 proto = eth->h_proto;

	d->tagged = f->tagged;
	d->tci = f->tci;
	for (int i = 0; i < 2; i++) {
		struct vlan_hdr *tag = at;

		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		if (at + sizeof(*tag) > end)
			return false;
		if (!d->tagged)
			d->tci = bpf_ntohs(tag->tci);
		d->tagged = true;
		proto = tag->proto;
		at += sizeof(*tag);
		d->before += sizeof(*tag);
	}

	__u32 length = f->length - d->before; /* of the IP packet and perhaps padding */
	__u32 total, header;                  /* of the IP packet, of its headers */
	__u32 tag = d->tagged ? TAGGED | d->tci : 0;
	bool valid;

	if (proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if (at + sizeof(*ip) > end || ip->protocol != IPPROTO_UDP ||
		    ip->frag_off & bpf_htons(IPV4_OFFSET) ||
		    !listens(0, 0, bpf_htonl(0xffff), ip->daddr) ||
		    !selects_header(&config.selection, 0, 0, bpf_htonl(0xffff), ip->saddr, ip->tos, tag))
			return false;
		header = ip->ihl * 4;
		total = bpf_ntohs(ip->tot_len);
		valid = ip->version == 4 && header >= sizeof(*ip);
		d->fragment = ip->frag_off & bpf_htons(IPV4_MORE);
	} else if (proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = at;

		if (at + sizeof(*ip) > end)
			return false;

		const __be32 *from = ip->saddr.in6_u.u6_addr32, *to = ip->daddr.in6_u.u6_addr32;
		__u8 next = ip->nexthdr;

		if (!listens(to[0], to[1], to[2], to[3]) ||
		    !selects_header(&config.selection, from[0], from[1], from[2], from[3], traffic_class(ip), tag))
			return false;
		header = sizeof(*ip);
		total = sizeof(*ip) + bpf_ntohs(ip->payload_len);
		valid = ip->version == 6;
		d->ipv6 = true;
		if (next == IPPROTO_FRAGMENT) {
			struct fragment_hdr *fragment = at + sizeof(*ip);

			if ((void *)(fragment + 1) > end || fragment->offset & bpf_htons(IPV6_OFFSET))
				return false;
			header += sizeof(*fragment);
			next = fragment->next;
			d->fragment = fragment->offset & bpf_htons(IPV6_MORE);
		}
		if (next != IPPROTO_UDP)
			return false;
	} else {
		return false;
	}

	struct udphdr *udp = at + header;

	if ((void *)(udp + 1) > end || !selects_ports(&config.selection, udp))
		return false;

	__u32 n = bpf_ntohs(udp->len);

	d->malformed = !valid || total > length || n < sizeof(*udp) ||
		       total < header + sizeof(*udp) || (!d->fragment && total < header + n);
	d->payload = udp + 1;
	d->before += header + sizeof(*udp);
	d->size = n - sizeof(*udp);
	d->here = (n < total - header ? n : total - header) - sizeof(*udp);
	return true;
}
