/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

struct request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

static int read_addresses(int fd, struct sockaddr_storage *ret_ours,
			  struct sockaddr_storage *ret_theirs)
{
	socklen_t ours = sizeof(*ret_ours), theirs = sizeof(*ret_theirs);

	if (getsockname(fd, (struct sockaddr *)ret_ours, &ours) < 0 ||
	    getpeername(fd, (struct sockaddr *)ret_theirs, &theirs) < 0)
		return -errno;
	return 0;
}

bool peer_is_on_loopback(int fd)
{
	struct sockaddr_storage ours, theirs;

	if (read_addresses(fd, &ours, &theirs))
		return false;
	if (ours.ss_family == AF_INET)
		return ntohl(((struct sockaddr_in *)&ours)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return ours.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&ours)->sin6_addr);
}

static int fill_end(const struct sockaddr_storage *address, __be16 *ret_port, __be32 ret_address[4])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET) {
		*ret_port = v4->sin_port;
		memcpy(ret_address, &v4->sin_addr, sizeof(v4->sin_addr));
		return 0;
	}
	if (address->ss_family == AF_INET6) {
		*ret_port = v6->sin6_port;
		memcpy(ret_address, &v6->sin6_addr, sizeof(v6->sin6_addr));
		return 0;
	}
	return -EAFNOSUPPORT;
}

/* The socket whose own end is `theirs`. */
static int fill_request(const struct sockaddr_storage *ours, const struct sockaddr_storage *theirs,
			struct request *ret_request)
{
	struct inet_diag_sockid *id = &ret_request->body.id;
	int result;

	memset(ret_request, 0, sizeof(*ret_request));
	ret_request->header.nlmsg_len = sizeof(*ret_request);
	ret_request->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	ret_request->header.nlmsg_flags = NLM_F_REQUEST;
	ret_request->body.sdiag_family = ours->ss_family;
	ret_request->body.sdiag_protocol = IPPROTO_TCP;
	ret_request->body.idiag_states = ~0U;
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	result = fill_end(theirs, &id->idiag_sport, id->idiag_src);
	return result ? result : fill_end(ours, &id->idiag_dport, id->idiag_dst);
}

static int ask(const struct request *request, struct inet_diag_msg *ret_answer)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr header;
		char bytes[8192];
	} buffer;
	ssize_t size;

	if (fd < 0)
		return -errno;
	if (send(fd, request, sizeof(*request), 0) < 0)
		return -errno;
	do {
		size = recv(fd, &buffer, sizeof(buffer), 0);
	} while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if (!NLMSG_OK(&buffer.header, size))
		return -EBADMSG;
	if (buffer.header.nlmsg_type == NLMSG_ERROR &&
	    buffer.header.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return ((struct nlmsgerr *)NLMSG_DATA(&buffer.header))->error ?: -ENOENT;
	if (buffer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    buffer.header.nlmsg_len < NLMSG_LENGTH(sizeof(*ret_answer)))
		return -EBADMSG;
	memcpy(ret_answer, NLMSG_DATA(&buffer.header), sizeof(*ret_answer));
	return 0;
}

/* A socket of IPv6 that speaks IPv4 has ::ffff:127.0.0.1 where the other end sees 127.0.0.1 (gRPC's clients do that). */
static void widen(u8 family, const __be32 address[4], __be32 ret_address[4])
{
	if (family != AF_INET) {
		memcpy(ret_address, address, 4 * sizeof(*address));
		return;
	}
	ret_address[0] = ret_address[1] = 0;
	ret_address[2] = htonl(0xffff);
	ret_address[3] = address[0];
}

static bool same_address(u8 family_a, const __be32 a[4], u8 family_b, const __be32 b[4])
{
	__be32 wide_a[4], wide_b[4];

	widen(family_a, a, wide_a);
	widen(family_b, b, wide_b);
	return !memcmp(wide_a, wide_b, sizeof(wide_a));
}

/* Where no connection is found the kernel answers with a listening socket of the same port; and a socket that was
 * closed has no file (inode) and no user any more, for which it says 0. */
static bool is_live_connection(const struct inet_diag_msg *answer, const struct request *request)
{
	const struct inet_diag_sockid *asked = &request->body.id, *found = &answer->id;
	u8 asked_family = request->body.sdiag_family, family = answer->idiag_family;

	return answer->idiag_state == TCP_ESTABLISHED && answer->idiag_inode &&
	       asked->idiag_sport == found->idiag_sport &&
	       asked->idiag_dport == found->idiag_dport &&
	       same_address(asked_family, asked->idiag_src, family, found->idiag_src) &&
	       same_address(asked_family, asked->idiag_dst, family, found->idiag_dst);
}

int peer_find_uid(int fd, u32 *ret_uid, struct err *err)
{
	struct sockaddr_storage ours, theirs;
	struct inet_diag_msg answer;
	struct request request;
	int result = read_addresses(fd, &ours, &theirs);

	if (!result)
		result = fill_request(&ours, &theirs, &request);
	if (!result)
		result = ask(&request, &answer);
	if (result == -ENOENT || (!result && !is_live_connection(&answer, &request)))
		return err_set(err, -EACCES,
			       "the other end is no open socket of this host (or the kernel lacks "
			       "tcp_diag, which names its user)");
	if (result)
		return err_errno(err, result, "can't ask the kernel whose connection it is");
	*ret_uid = answer.idiag_uid;
	return 0;
}
