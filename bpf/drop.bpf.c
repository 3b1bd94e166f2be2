//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Counts the packets of one test that the kernel gave up, by its reasons, in one
// network namespace: the tracepoint skb:kfree_skb (Linux 5.17 for the reasons).

#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IPV4_OFFSET 0x1fff
#define NO_OFFSET 0xffff /* of a header that is not known */

/* What is read of the kernel's own types; their layout comes from its BTF. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	possible_net_t nd_net;
};

struct sk_buff {
	struct net_device *dev;
	unsigned char *head, *data;
	unsigned int len, data_len;
	__u32 end; /* an offset, on 64-bit kernels */
	__u16 network_header;
};

struct skb_shared_info {
	unsigned short gso_segs;
};
#pragma clang attribute pop

struct filter {
	__be32 addr[4]; /* an IPv4 address is in the last word */
	__u32 namespace;
	__u16 port, ports, magic; /* host order; ports in a row; first 16 bits of a payload */
	__u8 any_address, any_payload, offsets; /* offsets: end is one, not a pointer */
};

struct start {
	struct udphdr udp;
	__be16 magic;
};

const volatile struct filter filter;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* enum skb_drop_reason */
	__type(value, __u64); /* packets */
} reasons SEC(".maps");

/* Whether a UDP header, and what follows it, are the test's. The payload of a
 * super-frame is out of sight, in pages behind the buffer that ends here. */
static __always_inline bool is_ours(const void *at, const void *end)
{
	struct start s;

	if (bpf_probe_read_kernel(&s, sizeof(s), at))
		return false;
	if ((__u16)(bpf_ntohs(s.udp.dest) - filter.port) >= filter.ports)
		return false;
	return filter.any_payload || at + sizeof(s) > end || s.magic == bpf_htons(filter.magic);
}

static __always_inline bool to_us(const __be32 *addr)
{
	if (filter.any_address)
		return true;
	for (int i = 0; i < 4; i++)
		if (addr[i] != filter.addr[i])
			return false;
	return true;
}

/* Whether an IP packet, or the first fragment of one, is the test's. */
static __always_inline bool matches(const void *at, const void *end)
{
	union {
		struct iphdr v4;
		struct ipv6hdr v6;
	} ip;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), at))
		return false;
	if (ip.v4.version == 4) {
		__be32 addr[4] = { 0, 0, bpf_htonl(0xffff), ip.v4.daddr };

		return ip.v4.protocol == IPPROTO_UDP && !(ip.v4.frag_off & bpf_htons(IPV4_OFFSET)) &&
		       to_us(addr) && is_ours(at + ip.v4.ihl * 4, end);
	}
	return ip.v6.version == 6 && ip.v6.nexthdr == IPPROTO_UDP &&
	       to_us(ip.v6.daddr.in6_u.u6_addr32) && is_ours(at + sizeof(ip.v6), end);
}

SEC("tp_btf/kfree_skb")
int drop(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	__u32 reason = ctx[2];

	/* First: this runs for whatever is dropped on the machine, at any rate. */
	if (skb->dev->nd_net.net->ns.inum != filter.namespace)
		return 0;

	unsigned char *head = skb->head, *data = skb->data;
	unsigned char *end = data + skb->len - skb->data_len;
	__u16 network = skb->network_header;

	/* A packet that waits in the backlog begins with its IP header, which
	 * is not noted yet. */
	if ((network == NO_OFFSET || !matches(head + network, end)) && !matches(data, end))
		return 0;

	__u64 packets = 1;

	if (filter.offsets) {
		struct skb_shared_info *shared = (void *)head + skb->end;
		__u16 segments = BPF_CORE_READ(shared, gso_segs);

		if (segments > 1)
			packets = segments;
	}

	__u64 *count = bpf_map_lookup_elem(&reasons, &reason);

	if (!count) {
		__u64 zero = 0;

		bpf_map_update_elem(&reasons, &reason, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&reasons, &reason);
	}
	if (count)
		__sync_fetch_and_add(count, packets);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
