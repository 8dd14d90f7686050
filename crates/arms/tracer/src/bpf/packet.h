/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets as hooks find them: addresses, ports and bytes of IPv4 and IPv6, TCP and UDP. */
#ifndef REARGUARD_PACKET_H
#define REARGUARD_PACKET_H

#define PROTO_TCP 6
#define PROTO_UDP 17

/*
 * A packet's header is in no structure that a hook is given. Since Linux 6.2 a cast lets it be read
 * like one; before that it is copied.
 */
#define HEADER(at, copy) header(at, &(copy), sizeof(copy), bpf_core_type_id_kernel(typeof(copy)))

static __always_inline const void *header(const void *at, void *copy, __u32 size, __u32 type)
{
	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_rdonly_cast(at, type);
	if (bpf_probe_read_kernel(copy, size, at))
		__builtin_memset(copy, 0, size);
	return copy;
}

/* An address as one word. An IPv4 client of an IPv6 socket is the same as without. */
static __always_inline __u32 folded(const __u32 *words)
{
	if (!words[0] && !words[1] && words[2] == bpf_htonl(0xffff))
		return words[3];
	return words[0] ^ words[1] ^ words[2] ^ words[3];
}

/* A packet's headers, from a skb whose data begins with the IP header. */
struct packet {
	__u32 from, to;
	__u16 source, destination;
	__u16 protocol;
	__u32 sequence, length;
	bool begins;
};

static __always_inline bool read_tcp(const void *at, __u32 length, struct packet *packet)
{
	struct tcphdr copy;
	const struct tcphdr *tcp = HEADER(at, copy);
	__u32 head = tcp->doff * 4;

	packet->source = bpf_ntohs(tcp->source);
	packet->destination = bpf_ntohs(tcp->dest);
	packet->sequence = bpf_ntohl(tcp->seq);
	packet->length = length > head ? length - head : 0;
	packet->begins = tcp->syn;
	return true;
}

static __always_inline bool read_udp(const void *at, struct packet *packet)
{
	struct udphdr copy;
	const struct udphdr *udp = HEADER(at, copy);

	packet->source = bpf_ntohs(udp->source);
	packet->destination = bpf_ntohs(udp->dest);
	packet->length = bpf_ntohs(udp->len);
	packet->sequence = 0;
	packet->begins = false;
	return true;
}

static __always_inline __u32 folded_header(const struct in6_addr *address)
{
	__u32 words[4] = { address->in6_u.u6_addr32[0], address->in6_u.u6_addr32[1],
			   address->in6_u.u6_addr32[2], address->in6_u.u6_addr32[3] };

	return folded(words);
}

static __always_inline bool read_packet(const void *at, __u32 skb_length, struct packet *packet)
{
	struct iphdr copy;
	struct ipv6hdr long_copy;
	const struct iphdr *four = HEADER(at, copy);
	__u32 head = sizeof(struct ipv6hdr);

	if (four->version == 4) {
		head = four->ihl * 4;
		packet->from = four->saddr;
		packet->to = four->daddr;
		packet->protocol = four->protocol;
	} else {
		const struct ipv6hdr *six = HEADER(at, long_copy);

		packet->from = folded_header(&six->saddr);
		packet->to = folded_header(&six->daddr);
		packet->protocol = six->nexthdr;
	}
	at += head;
	if (packet->protocol == PROTO_TCP)
		return read_tcp(at, skb_length > head ? skb_length - head : 0, packet);
	return packet->protocol == PROTO_UDP && read_udp(at, packet);
}

#endif
