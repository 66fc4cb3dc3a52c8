/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What every thread has waited for, by the system call (or page fault) that it sleeps in.
 *
 * Where a thread goes to sleep its cause is found, where it is woken the wait ends: what is left until it runs is the run queue's, which
 * the scheduler counts itself. Sums stand with the thread; the iterator reads them, waits under way included. What a thread that
 * ends has waited is put by until the next reading. Numbers of system calls are those of x86-64.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* src/ebpf/waits.rs has the same order. */
enum cause {
	PAGE,
	DISK,
	FUTEX,
	FILE_LOCK,
	LOCAL,
	NETWORK,
	IDLE,
	OTHER,
	CAUSES,
};

struct waits {
	__u64 since_ns, woken_ns;
	__u64 cause;
	__u64 ns[CAUSES];
};

struct wait_record {
	__u32 pid, tgid;
	__u64 ns[CAUSES];
};

struct ended {
	__u32 tgid, parent;
	__u32 uid, unused;
	__u64 ns[CAUSES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct waits);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ended);
} ended SEC(".maps");

LOST_MAP

#define STATE_UNINTERRUPTIBLE 2
#define STATE_DEAD 0x80
#define STATE_NO_LOAD 0x400

#define MODE_KIND 0170000
#define MODE_SOCKET 0140000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000
#define MODE_DIRECTORY 0040000
#define MODE_CHARACTER 0020000
#define MODE_PIPE 0010000

#define FAMILY_UNIX 1
#define FAMILY_IP4 2

static __always_inline enum cause cause_of_socket(struct file *file)
{
	struct socket *socket = bpf_rdonly_cast(file->private_data, bpf_core_type_id_kernel(struct socket));
	struct sock *sock = socket->sk;

	if (!sock)
		return OTHER;
	if (sock->__sk_common.skc_family == FAMILY_UNIX)
		return LOCAL;
	if (sock->__sk_common.skc_family == FAMILY_IP4) {
		__u32 there = sock->__sk_common.skc_daddr;
		/* 127.0.0.0/8, or an address of this host's own. */
		if ((there & 0xff) == 127 || (there && there == sock->__sk_common.skc_rcv_saddr))
			return LOCAL;
	}
	return NETWORK;
}

static __always_inline enum cause cause_of_file(struct task_struct *task, __u64 number)
{
	struct files_struct *files = task->files;
	struct fdtable *table;
	struct list_head *place;
	struct file *file;
	__u32 kind;

	if (!files)
		return OTHER;
	table = files->fdt;
	if (number >= table->max_fds)
		return OTHER;
	/* The verifier follows pointers to structures only: the first member of this one is the pointer wanted. */
	place = bpf_rdonly_cast((void *)((__u64)table->fd + number * 8), bpf_core_type_id_kernel(struct list_head));
	file = bpf_rdonly_cast(place->next, bpf_core_type_id_kernel(struct file));
	kind = file->f_inode->i_mode & MODE_KIND;
	if (kind == MODE_PIPE)
		return LOCAL;
	if (kind == MODE_SOCKET)
		return cause_of_socket(file);
	if (kind == MODE_REGULAR || kind == MODE_BLOCK || kind == MODE_DIRECTORY)
		return DISK;
	/* A terminal, mostly. */
	if (kind == MODE_CHARACTER)
		return IDLE;
	return OTHER;
}

static __always_inline enum cause cause_of(struct task_struct *task, unsigned int state)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	bool hard = (state & STATE_UNINTERRUPTIBLE) && !(state & STATE_NO_LOAD);
	__s64 call = registers->orig_ax;
	enum cause cause = OTHER;

	switch (call) {
	case 0 ... 1: /* read, write */
	case 16 ... 20: /* ioctl, pread64, pwrite64, readv, writev */
	case 40: /* sendfile */
	case 42: /* connect */
	case 44 ... 47: /* sendto, recvfrom, sendmsg, recvmsg */
	case 275: /* splice */
	case 295 ... 296: /* preadv, pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 327 ... 328: /* preadv2, pwritev2 */
		cause = cause_of_file(task, registers->di);
		break;
	case 74 ... 75: /* fsync, fdatasync */
	case 162: /* sync */
	case 26: /* msync */
	case 277: /* sync_file_range */
	case 306: /* syncfs */
		cause = DISK;
		break;
	case 202: /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		cause = FUTEX;
		break;
	case 73: /* flock */
		cause = FILE_LOCK;
		break;
	case 72: /* fcntl: F_SETLKW, F_OFD_SETLKW */
		cause = registers->si == 7 || registers->si == 38 ? FILE_LOCK : OTHER;
		break;
	case 7: /* poll */
	case 23: /* select */
	case 34 ... 35: /* pause, nanosleep */
	case 43: /* accept */
	case 61: /* wait4 */
	case 128: /* rt_sigtimedwait */
	case 130: /* rt_sigsuspend */
	case 230: /* clock_nanosleep */
	case 232: /* epoll_wait */
	case 247: /* waitid */
	case 270 ... 271: /* pselect6, ppoll */
	case 281: /* epoll_pwait */
	case 288: /* accept4 */
	case 441: /* epoll_pwait2 */
		cause = IDLE;
		break;
	default:
		/* In user state: a fault. */
		if (call < 0)
			cause = hard ? PAGE : OTHER;
	}
	/* In io_schedule(): whatever the call, it waits for a device. */
	if (hard && cause != PAGE && task->in_iowait)
		return DISK;
	/* Uninterruptible in a call that would wait for others: a lock of the kernel's own, or its storage. */
	if (hard && (cause == IDLE || cause == LOCAL || cause == NETWORK || cause == FUTEX))
		return OTHER;
	return cause;
}

static __always_inline void end_wait(struct waits *own, __u64 now)
{
	__u64 until = own->woken_ns ? own->woken_ns : now;
	__u64 cause = own->cause;

	if (cause < CAUSES && until > own->since_ns)
		own->ns[cause] += until - own->since_ns;
	own->since_ns = 0;
}

SEC("tp_btf/switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();
	unsigned int state = state_of(prev);
	struct waits *own;

	/* One that has ended waits for nothing, however long its parent does not look. */
	if (!preempt && state && !(state & STATE_DEAD) && !(prev->flags & PF_KTHREAD)) {
		own = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (own) {
			own->cause = cause_of(prev, state);
			own->woken_ns = 0;
			own->since_ns = now;
		} else {
			count_lost();
		}
	}
	if (!(next->flags & PF_KTHREAD) && next->pid) {
		own = bpf_task_storage_get(&waits, next, 0, 0);
		if (own && own->since_ns)
			end_wait(own, now);
	}
	return 0;
}

SEC("tp_btf/wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct waits *own;

	if (task->flags & PF_KTHREAD)
		return 0;
	own = bpf_task_storage_get(&waits, task, 0, 0);
	if (own && own->since_ns && !own->woken_ns)
		own->woken_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct ended last = {};
	struct waits *own;
	__u32 tid = task->pid;
	int i;

	own = bpf_task_storage_get(&waits, task, 0, 0);
	if (!own)
		return 0;
	last.tgid = task->tgid;
	last.parent = task->real_parent->tgid;
	last.uid = task->real_cred->euid.val;
	for (i = 0; i < CAUSES; i++)
		last.ns[i] = own->ns[i];
	if (bpf_map_update_elem(&ended, &tid, &last, BPF_ANY))
		count_lost();
	return 0;
}

SEC("tp_btf/iterator")
int dump_waits(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct wait_record record = {};
	__u64 now, until, cause;
	unsigned int state;
	struct waits *own;
	int i;

	if (!task || task->flags & PF_KTHREAD || task->exit_state)
		return 0;
	/* A thread that has slept since before this began is taken up now. */
	own = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own)
		return 0;
	now = bpf_ktime_get_ns();
	state = state_of(task);
	record.pid = task->pid;
	record.tgid = task->tgid;
	if (!own->since_ns && state && !own->woken_ns) {
		/* Should it be woken at this very moment, its next sleep puts that right. */
		own->cause = cause_of(task, state);
		own->since_ns = now;
	}
	for (i = 0; i < CAUSES; i++)
		record.ns[i] = own->ns[i];
	if (own->since_ns) {
		until = own->woken_ns ? own->woken_ns : now;
		cause = own->cause;
		if (cause < CAUSES && until > own->since_ns)
			record.ns[cause] += until - own->since_ns;
	}
	bpf_seq_write(seq, &record, sizeof(record));
	return 0;
}
