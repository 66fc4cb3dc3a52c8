/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long those who ask services wait, by the direction of bytes alone: none of them is looked at.
 *
 * Of each connection that a process of this host has accepted: bytes come, the process reads them, writes, and others come. What is read
 * before the first write is one request; what is written before the next read is its answer. Ended answers stand in a map until they are read.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Whether the names of programs are told. */
const volatile __u32 names = 0;

/* What nothing but these programs uses. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common___service {
	unsigned short skc_family;
	unsigned short skc_num;
	volatile unsigned char skc_state;
};

struct sock___service {
	struct sock_common___service __sk_common;
	__u16 sk_protocol;
};

struct tcp_sock {
	__u32 write_seq, snd_nxt;
};

struct inode___device {
	__u32 i_rdev;
};

#pragma clang attribute pop

#define FAMILY_IP4 2
#define FAMILY_IP6 10
#define PROTOCOL_TCP 6
#define PEEK 2

/* What opens a pseudo-terminal: a character device of number 5, 2. */
#define PTMX (5 << 20 | 2)
/* Files that are looked at for it. */
#define FIRST_FILES 32

#define TCP_ESTABLISHED 1
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE 7
#define TCP_LAST_ACK 9
#define TCP_FIN_WAIT2 5

enum {
	/* Nothing was asked yet. */
	QUIET,
	/* Something was read, and nothing written since. */
	ASKED,
	ANSWERS,
	/* Closed by the process while a part of the answer was still held back. */
	CLOSES,
	/* A terminal's or the kernel's own. */
	LEFT_OUT,
};

/* It ended before an answer. */
#define CUT 1

struct connection {
	__u64 number, state;
	/* The last byte of the answer before; at first when it was accepted. */
	__u64 before_ns;
	/* What has come and is not read: its first bytes, its last. */
	__u64 came_ns, came_last_ns;
	/* Of the request: its first bytes, its last, when they were read; of the answer: its first, its last. */
	__u64 asked_ns, asked_last_ns, read_ns, first_ns, last_ns;
	__u32 port, pid, uid, ahead;
	char name[16];
};

/* src/ebpf/services.rs reads the same layout. */
struct answer {
	__u64 number;
	__u64 before_ns, asked_ns, asked_last_ns, read_ns, first_ns, last_ns;
	__u32 port, pid, uid, ahead, flags, unused;
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct answer);
} answers SEC(".maps");

/* Ports that listened when the recording began: of connections older than it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} listening SEC(".maps");

/* How many connections there were, and how many answers. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

LOST_MAP

static __always_inline __u64 next_number(__u32 place)
{
	__u64 *number = bpf_map_lookup_elem(&numbers, &place);

	return number ? __sync_fetch_and_add(number, 1) : 0;
}

static __always_inline bool is_internet(const struct sock___service *sock)
{
	__u16 family = sock->__sk_common.skc_family;

	return family == FAMILY_IP4 || family == FAMILY_IP6;
}

/* A part of what was written waits for the other end: its window is full, or Nagle's rule has small pieces wait for an answer. */
static __always_inline bool is_held_back(const void *sock)
{
	struct tcp_sock *tcp = AS(sock, struct tcp_sock);

	return GET(tcp, write_seq) != GET(tcp, snd_nxt);
}

static __always_inline void tell(struct connection *known, __u32 flags)
{
	__u64 number = next_number(1);
	struct answer answer = {
		.number = known->number,
		.before_ns = known->before_ns,
		.asked_ns = known->asked_ns,
		.asked_last_ns = known->asked_last_ns,
		.read_ns = known->read_ns,
		.first_ns = known->first_ns,
		.last_ns = known->last_ns,
		.port = known->port,
		.pid = known->pid,
		.uid = known->uid,
		.ahead = known->ahead,
		.flags = flags,
	};

	*(__u64 *)answer.name = *(__u64 *)known->name;
	*(__u64 *)(answer.name + 8) = *(__u64 *)(known->name + 8);
	if (bpf_map_update_elem(&answers, &number, &answer, BPF_ANY))
		count_lost();
}

static __always_inline void take_up(const struct sock___service *sock, __u64 now)
{
	struct connection first = {};
	__u64 key = (__u64)sock;

	first.number = next_number(0);
	first.port = sock->__sk_common.skc_num;
	first.before_ns = now;
	if (bpf_map_update_elem(&connections, &key, &first, BPF_ANY))
		count_lost();
}

SEC("tp_btf/state")
int BPF_PROG(on_state, struct sock *of, int before, int after)
{
	struct sock___service *sock = (void *)of;
	struct connection *known;
	__u64 key = (__u64)of;

	if (before == TCP_SYN_RECV && after == TCP_ESTABLISHED) {
		if (is_internet(sock) && sock->sk_protocol == PROTOCOL_TCP)
			take_up(sock, bpf_ktime_get_ns());
		return 0;
	}
	if (after != TCP_CLOSE && after != TCP_FIN_WAIT1 && after != TCP_LAST_ACK && after != TCP_FIN_WAIT2)
		return 0;
	known = bpf_map_lookup_elem(&connections, &key);
	if (!known)
		return 0;
	if (known->state == ANSWERS && after != TCP_CLOSE && is_held_back(of)) {
		known->state = CLOSES;
		return 0;
	}
	if (known->state == CLOSES) {
		known->last_ns = bpf_ktime_get_ns();
		tell(known, 0);
	} else if (known->state == ANSWERS)
		tell(known, 0);
	else if (known->state == ASKED)
		tell(known, CUT);
	bpf_map_delete_elem(&connections, &key);
	return 0;
}

/* Bytes have come. */
SEC("tp_btf/ready")
int BPF_PROG(on_ready, struct sock *of)
{
	struct sock___service *sock = (void *)of;
	struct connection *known;
	__u64 key = (__u64)of, now;

	if (!is_internet(sock) || sock->__sk_common.skc_state != TCP_ESTABLISHED)
		return 0;
	known = bpf_map_lookup_elem(&connections, &key);
	if (!known)
		return 0;
	now = bpf_ktime_get_ns();
	if (!known->came_ns)
		known->came_ns = now;
	known->came_last_ns = now;
	return 0;
}

static __always_inline void take_name(struct connection *known, struct task_struct *task)
{
	if (!names)
		return;
	*(__u64 *)known->name = *(__u64 *)task->comm;
	*(__u64 *)(known->name + 8) = *(__u64 *)(task->comm + 8);
}

static __always_inline void take_process(struct connection *known, struct task_struct *task)
{
	known->pid = task->tgid;
	known->uid = task->real_cred->euid.val;
	take_name(known, task);
}

static __always_inline bool has_terminal(struct task_struct *task)
{
	struct files_struct *files = task->files;
	struct inode___device *inode;
	struct fdtable *table;
	struct file *file;
	__u32 n;

	if (!files)
		return 0;
	table = files->fdt;
	for (n = 0; n < FIRST_FILES && n < table->max_fds; n++) {
		file = file_at(table, n);
		if (!file)
			continue;
		inode = AS(GET(file, f_inode), struct inode___device);
		if (GET(inode, i_rdev) == PTMX)
			return 1;
	}
	return 0;
}

/* The kernel's own services; ssh with a terminal, at which a line is a transaction already. */
static __always_inline bool is_left_out(struct task_struct *task)
{
	return task->flags & PF_KTHREAD || (*(__u32 *)task->comm == 0x64687373 && has_terminal(task));
}

SEC("tp_btf/recv")
int BPF_PROG(on_recv, struct sock *of, int length, int flags)
{
	struct sock___service *sock = (void *)of;
	struct connection *known;
	__u64 key = (__u64)of, now;
	struct task_struct *task;
	__u32 port;

	if (length <= 0 || flags & PEEK || !is_internet(sock) || sock->sk_protocol != PROTOCOL_TCP)
		return 0;
	known = bpf_map_lookup_elem(&connections, &key);
	if (!known) {
		port = sock->__sk_common.skc_num;
		if (sock->__sk_common.skc_state != TCP_ESTABLISHED || !bpf_map_lookup_elem(&listening, &port))
			return 0;
		take_up(sock, 0);
		known = bpf_map_lookup_elem(&connections, &key);
		if (!known)
			return 0;
	}
	if (known->state == LEFT_OUT || known->state == CLOSES)
		return 0;
	now = bpf_ktime_get_ns();
	task = bpf_get_current_task_btf();
	if (known->state != ASKED) {
		if (is_left_out(task)) {
			known->state = LEFT_OUT;
			return 0;
		}
		if (known->state == ANSWERS) {
			if (known->came_ns && known->came_ns < known->last_ns)
				known->ahead++;
			tell(known, 0);
			known->before_ns = known->last_ns;
		}
		known->state = ASKED;
		known->ahead = 0;
		known->asked_ns = known->came_ns ? known->came_ns : now;
		known->asked_last_ns = known->asked_ns;
		known->first_ns = 0;
		known->last_ns = 0;
		take_process(known, task);
	}
	if (known->came_last_ns)
		known->asked_last_ns = known->came_last_ns;
	known->read_ns = now;
	known->came_ns = 0;
	known->came_last_ns = 0;
	return 0;
}

/* A piece of an answer is about to be written. */
SEC("tp_btf/piece")
int BPF_PROG(on_piece, struct sock *of)
{
	struct connection *known;
	__u64 key = (__u64)of;

	known = bpf_map_lookup_elem(&connections, &key);
	if (known && known->state == ASKED && !known->first_ns)
		known->first_ns = bpf_ktime_get_ns();
	return 0;
}

/* The other end has told that it goes on: what was held back goes now. */
SEC("tp_btf/probe")
int BPF_PROG(on_probe, struct sock *of)
{
	struct connection *known;
	__u64 key = (__u64)of;

	if (!is_held_back(of))
		return 0;
	known = bpf_map_lookup_elem(&connections, &key);
	if (known && known->state == ANSWERS)
		known->last_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/send")
int BPF_PROG(on_send, struct sock *of, int length, int flags)
{
	struct sock___service *sock = (void *)of;
	struct connection *known;
	__u64 key = (__u64)of, now;

	if (length <= 0 || !is_internet(sock) || sock->sk_protocol != PROTOCOL_TCP)
		return 0;
	known = bpf_map_lookup_elem(&connections, &key);
	if (!known || known->state == LEFT_OUT || known->state == CLOSES)
		return 0;
	now = bpf_ktime_get_ns();
	if (known->state == QUIET) {
		/* It speaks first: who is greeted thinks from here on. */
		known->before_ns = now;
		return 0;
	}
	if (known->state == ASKED) {
		known->state = ANSWERS;
		if (!known->first_ns)
			known->first_ns = now;
		take_process(known, bpf_get_current_task_btf());
	}
	known->last_ns = now;
	return 0;
}
