// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Which datagrams to our address count: by where they come from, their ports, their
// tag and their DSCP.

#pragma once

#include <linux/types.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>

#define TAGGED (1U << 16) /* beside a TCI, that there is one */

/* What is masked out may be anything; a mask of 0 takes all. */
struct selection {
	__be32 from[4], from_mask[4]; /* source address, IPv4 mapped */
	__u32 tag, tag_mask;          /* TAGGED and the TCI of the outer 802.1Q tag */
	__u16 sports[2], dports[2];   /* first and last */
	__u32 tos, tos_mask;          /* IPv4 TOS or IPv6 traffic class */
};

/* By the IP header, and the tag before it. */
static __always_inline bool selects_header(const volatile struct selection *s, __be32 a, __be32 b,
					   __be32 c, __be32 d, __u32 tos, __u32 tag)
{
	return (a & s->from_mask[0]) == s->from[0] && (b & s->from_mask[1]) == s->from[1] &&
	       (c & s->from_mask[2]) == s->from[2] && (d & s->from_mask[3]) == s->from[3] &&
	       (tos & s->tos_mask) == s->tos && (tag & s->tag_mask) == s->tag;
}

static __always_inline bool selects_ports(const volatile struct selection *s, const struct udphdr *udp)
{
	__u16 from = bpf_ntohs(udp->source), to = bpf_ntohs(udp->dest);

	return from >= s->sports[0] && from <= s->sports[1] && to >= s->dports[0] && to <= s->dports[1];
}

/* The traffic class of an IPv6 header stands across its first two bytes. */
static __always_inline __u32 traffic_class(const void *ip)
{
	const __u8 *b = ip;

	return (b[0] << 4 | b[1] >> 4) & 0xff;
}
