/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What every thread has waited for, by the system call (or page fault) that it sleeps in.
 *
 * Where a thread goes to sleep its cause is found. Where it runs again, the wait is what passed by the scheduler's clock, which processor time is
 * counted by, less the time in queues that the scheduler counts; that part of it in which its group's quota held it back is counted here. Sums stand with the thread; the
 * iterator reads them, waits under way included. What a thread that ends has waited is put by until the next reading.
 *
 * Who ends a wait for a lock or for another process runs when it is ended: both are put down as a pair until the next reading. Locks are
 * handed on while others wait: what one waited before the holder had the lock is put down to those before it, as the holder knows them
 * from its own wait.
 * Numbers of system calls are those of x86-64.
 */
#include "task_record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PF_EXITING 0x00000004

/* What nothing but these programs uses. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
	__u64 throttled_clock_self, throttled_clock_self_time;
};

struct sched_entity___queue {
	struct cfs_rq *cfs_rq;
};

struct sched_info___queue {
	unsigned long long run_delay, last_queued;
};

struct task_struct___queue {
	struct sched_entity___queue se;
	struct sched_info___queue sched_info;
	/* By its group's quota, since 6.18: it runs no more until the quota is given anew. */
	bool throttled;
};

struct gendisk {
	int major, first_minor;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bio {
	struct block_device *bi_bdev;
};

struct pt_regs___third {
	unsigned long dx;
};

#pragma clang attribute pop

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
	/* Futex calls that wait for a lock, as far as the call tells. */
	MUTEX,
	/* No sleep: a part of the run queue's time. */
	QUOTA,
	CAUSES,
};

/* By so much processors' clocks may differ where the kernel keeps them together itself: a tick or two. */
#define CLOCKS_DIFFER_NS 20000000ULL

/* So many who held a lock one after the other are known to each that waited for it. */
#define HOLDERS 8

struct held {
	__u64 until_ns;
	__u32 pid, uid;
};

struct waits {
	/* `woken_ns`: while it has not run again. Where it went to sleep: time in run queues until then, and the scheduler's clock. */
	__u64 since_ns, woken_ns, delay_ns, clock_ns;
	__u64 cause;
	/* Where the clocks of two processors differ: what was counted too little for a wait to be less than nothing. Never positive. */
	__s64 owed_ns;
	/* Of one that its group's quota holds back: the queue, and what it had counted of such time until then, ns. */
	__u64 queue, counted_ns;
	/* Who held the lock that it waited for last, the last one first. */
	__u64 held_cause;
	struct held held[HOLDERS];
	__u64 ns[CAUSES];
	/* `since_ns` of the wait under way that dump_both has told of. */
	__u64 told_ns;
	/* The disk that it has asked for something last, while it has waited for nothing but disks and pages since; 0: none. */
	__u64 disk;
};

struct pair {
	__u32 waiter, holder;
	__u64 cause;
};

struct paired {
	__u64 ns, count;
	__u32 waiter_uid, holder_uid;
	char name[16];
};

/* A process' waits for a disk. */
struct disk_key {
	__u32 tgid, disk;
};

struct disk_sum {
	__u64 ns, count;
	__u32 uid, unused;
};

struct wait_record {
	__u32 pid, tgid;
	__u64 ns[CAUSES];
};

/* What dump_both tells of a thread's waits. */
enum {
	NO_WAITS,
	/* The wait told of last goes on, and there was no other. */
	GOES_ON,
	/* A wait_sums follows. */
	SUMS,
};

struct wait_sums {
	/* The wait under way, which is not in `ns`: its cause, and from when until now; 0: none. */
	__u64 cause, since_ns, until_ns;
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

/* By process: who waited, who ended the wait. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct pair);
	__type(value, struct paired);
} pairs SEC(".maps");

/* Waits in pages and in files and block devices that have ended, by process and disk. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct disk_key);
	__type(value, struct disk_sum);
} disks SEC(".maps");

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
	struct socket *socket = AS(GET(file, private_data), struct socket);
	struct sock *sock = GET(socket, sk);
	__u16 family;

	if (!sock)
		return OTHER;
	family = GET(sock, __sk_common.skc_family);
	if (family == FAMILY_UNIX)
		return LOCAL;
	if (family == FAMILY_IP4) {
		__u32 there = GET(sock, __sk_common.skc_daddr);
		/* 127.0.0.0/8, or an address of this host's own. */
		if ((there & 0xff) == 127 || (there && there == GET(sock, __sk_common.skc_rcv_saddr)))
			return LOCAL;
	}
	return NETWORK;
}

static __always_inline enum cause cause_of_file(struct task_struct *task, __u64 number)
{
	struct files_struct *files = task->files;
	struct fdtable *table;
	struct inode *inode;
	struct file *file;
	__u32 kind;

	if (!files)
		return OTHER;
	table = files->fdt;
	if (number >= table->max_fds)
		return OTHER;
	file = file_at(table, number);
	inode = GET(file, f_inode);
	kind = GET(inode, i_mode) & MODE_KIND;
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

/*
 * A lock that wakes who waits for it holds 2 while somebody does (glibc, Go); one that passes on priority is a lock by its call. Conditions,
 * semaphores and the rest wait otherwise. Rust's locks cannot be told from its conditions.
 */
static __always_inline enum cause cause_of_futex(struct pt_regs *registers)
{
	/* Without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME. */
	__u64 operation = registers->si & 0x7f;

	switch (operation) {
	case 0: /* FUTEX_WAIT */
		return (__u32)((struct pt_regs___third *)registers)->dx == 2 ? MUTEX : FUTEX;
	case 6: /* FUTEX_LOCK_PI */
	case 13: /* FUTEX_LOCK_PI2 */
		return MUTEX;
	}
	return FUTEX;
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
		cause = cause_of_futex(registers);
		break;
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
	if (hard && (cause == IDLE || cause == LOCAL || cause == NETWORK || cause == FUTEX || cause == MUTEX))
		return OTHER;
	return cause;
}

static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___queue *queued = (struct task_struct___queue *)task;

	return bpf_core_field_exists(queued->throttled) && queued->throttled;
}

/* Its group's quota has just taken it from its queue. */
static __always_inline void begin_throttled(struct waits *own, struct task_struct *task, __u64 now)
{
	struct cfs_rq *queue = ((struct task_struct___queue *)task)->se.cfs_rq;
	__u64 began = queue->throttled_clock_self, clock = queue->rq->clock;

	own->cause = QUOTA;
	own->since_ns = now;
	own->woken_ns = 0;
	own->queue = (__u64)queue;
	/* The queue counts when it is given its quota anew, from the first task that it held back. */
	own->counted_ns = queue->throttled_clock_self_time + (began && clock > began ? clock - began : 0);
}

/* When it was let go, by what its queue has counted since; it may have waited for a processor then. */
static __always_inline __u64 end_of_throttled(struct waits *own, __u64 now)
{
	struct cfs_rq *queue;
	__u64 counted, until;

	if (!bpf_core_field_exists(((struct task_struct___queue *)0)->throttled))
		return now;
	queue = AS(own->queue, struct cfs_rq);
	counted = GET(queue, throttled_clock_self_time);
	until = own->since_ns + (counted - own->counted_ns);
	return counted > own->counted_ns && until < now ? until : now;
}

static __always_inline __u64 end_of_wait(struct waits *own, __u64 now)
{
	if (own->woken_ns)
		return own->woken_ns;
	return own->cause == QUOTA ? end_of_throttled(own, now) : now;
}

static __always_inline __u64 run_delay(struct task_struct *task)
{
	struct task_struct___queue *queued = (struct task_struct___queue *)task;

	return bpf_core_field_exists(queued->sched_info.run_delay) ? queued->sched_info.run_delay : 0;
}

/* The scheduler's clock on the processor of a task that is switched to or from; 0: cannot be told. */
static __always_inline __u64 clock_of(struct task_struct *task)
{
	struct task_struct___queue *queued = (struct task_struct___queue *)task;

	return bpf_core_field_exists(queued->se.cfs_rq) ? queued->se.cfs_rq->rq->clock : 0;
}

/* Of a task that runs now: what has passed since it went to sleep, less what the scheduler will have counted as time in queues. */
static __always_inline __s64 waited(struct waits *own, struct task_struct *task, __u64 now)
{
	struct task_struct___queue *queued = (struct task_struct___queue *)task;
	__u64 until = end_of_wait(own, now), clock = clock_of(task), delay, last;

	if (own->cause == QUOTA || !own->clock_ns || clock + CLOCKS_DIFFER_NS <= own->clock_ns ||
	    !bpf_core_field_exists(queued->sched_info.last_queued))
		return until > own->since_ns ? until - own->since_ns : 0;
	last = queued->sched_info.last_queued;
	delay = queued->sched_info.run_delay - own->delay_ns;
	if (last && clock > last)
		delay += clock - last;
	return (__s64)(clock - own->clock_ns) - (__s64)delay;
}

static __always_inline void end_disk_wait(struct waits *own, struct task_struct *task, __u64 ns)
{
	struct disk_key key = { .tgid = task->tgid, .disk = own->disk };
	struct disk_sum *known = bpf_map_lookup_elem(&disks, &key);

	if (known) {
		__sync_fetch_and_add(&known->ns, ns);
		__sync_fetch_and_add(&known->count, 1);
	} else {
		struct disk_sum first = { .ns = ns, .count = 1, .uid = task->real_cred->euid.val };

		if (bpf_map_update_elem(&disks, &key, &first, BPF_ANY))
			count_lost();
	}
}

static __always_inline void end_wait(struct waits *own, struct task_struct *task, __u64 now)
{
	__u64 cause = own->cause;
	__s64 ns;

	if (cause < CAUSES) {
		ns = waited(own, task, now);
		if (cause != QUOTA) {
			/* Counted up to another processor's clock, less of the next wait is left: in sum all is right. */
			ns += own->owed_ns;
			own->owed_ns = ns < 0 ? ns : 0;
		}
		if (ns < 0)
			ns = 0;
		own->ns[cause] += ns;
		if (cause == DISK || cause == PAGE)
			end_disk_wait(own, task, ns);
	}
	own->since_ns = 0;
}

/* Something is asked of a disk. One that is made of others comes first, and those after it. */
SEC("tp_btf/bio")
int BPF_PROG(on_bio, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_device *device;
	struct gendisk *disk;
	struct waits *own;

	if (task->flags & PF_KTHREAD)
		return 0;
	device = bio->bi_bdev;
	if (!device)
		return 0;
	disk = device->bd_disk;
	own = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own && disk)
		/* As the kernel numbers devices. */
		own->disk = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	return 0;
}

SEC("tp_btf/switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	__u64 now = bpf_ktime_get_ns();
	struct waits *own;

	/* One that has ended waits for nothing, however long its parent does not look. */
	if (!preempt && state && !(state & STATE_DEAD) && !(prev->flags & PF_KTHREAD)) {
		own = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (own) {
			own->cause = cause_of(prev, state);
			if (own->cause != DISK && own->cause != PAGE)
				own->disk = 0;
			own->woken_ns = 0;
			own->delay_ns = run_delay(prev);
			own->clock_ns = clock_of(prev);
			own->since_ns = now;
		} else {
			count_lost();
		}
	} else if (!state && is_throttled(prev)) {
		own = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (own)
			begin_throttled(own, prev, now);
		else
			count_lost();
	}
	if (!(next->flags & PF_KTHREAD) && next->pid) {
		own = bpf_task_storage_get(&waits, next, 0, 0);
		if (own && own->since_ns)
			end_wait(own, next, now);
	}
	return 0;
}

/*
 * Whether a task can have ended such a wait by the call that it is in. An interrupt (a timer that runs out, a packet from outside) wakes in
 * the midst of whatever runs, which has nothing to do with it.
 */
static __always_inline int can_end(struct task_struct *task, __u64 cause)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	__s64 call = registers->orig_ax;

	/* It ends: all it holds is given back. */
	if (task->flags & PF_EXITING)
		return 1;
	switch (call) {
	case 202: /* futex */
	case 454: /* futex_wake */
	case 456: /* futex_requeue */
		return cause == FUTEX || cause == MUTEX;
	case 72 ... 73: /* fcntl, flock */
		return cause == FILE_LOCK;
	case 3: /* close */
	case 33: /* dup2 */
	case 59: /* execve */
	case 292: /* dup3 */
	case 322: /* execveat */
	case 436: /* close_range */
		return cause == FILE_LOCK || cause == LOCAL;
	case 0 ... 1: /* read, write */
	case 17 ... 20: /* pread64, pwrite64, readv, writev */
	case 40: /* sendfile */
	case 42 ... 48: /* connect, accept, sendto, recvfrom, sendmsg, recvmsg, shutdown */
	case 275 ... 276: /* splice, tee */
	case 278: /* vmsplice */
	case 288: /* accept4 */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 426: /* io_uring_enter */
		return cause == LOCAL;
	}
	return 0;
}

/* `ended`: the holder itself has ended the wait now. */
static __always_inline void put_down(struct pair *pair, __u64 ns, __u32 waiter_uid, __u32 holder_uid, struct task_struct *ended)
{
	struct paired *known = bpf_map_lookup_elem(&pairs, pair);

	if (known) {
		__sync_fetch_and_add(&known->ns, ns);
		if (ended)
			__sync_fetch_and_add(&known->count, 1);
	} else {
		struct paired first = {
			.ns = ns,
			.count = ended ? 1 : 0,
			.waiter_uid = waiter_uid,
			.holder_uid = holder_uid,
		};
		if (ended) {
			*(__u64 *)first.name = *(__u64 *)ended->comm;
			*(__u64 *)(first.name + 8) = *(__u64 *)(ended->comm + 8);
		}
		if (bpf_map_update_elem(&pairs, pair, &first, BPF_ANY))
			count_lost();
	}
}

/* Comes where the waker runs; the wakeup itself may come on another processor. */
SEC("tp_btf/waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct waits *own, *before = 0;
	__u64 cause, now, from, lower;
	__u32 waiter_uid, holder_uid;
	struct task_struct *waker;
	struct pair pair = {};
	struct held *held;
	int i;

	if (task->flags & PF_KTHREAD)
		return 0;
	own = bpf_task_storage_get(&waits, task, 0, 0);
	if (!own || !own->since_ns || own->woken_ns)
		return 0;
	now = bpf_ktime_get_ns();
	own->woken_ns = now;
	cause = own->cause;
	if (cause != FUTEX && cause != MUTEX && cause != FILE_LOCK && cause != LOCAL)
		return 0;
	waker = bpf_get_current_task_btf();
	if (waker->flags & PF_KTHREAD || !can_end(waker, cause))
		return 0;
	from = own->since_ns;
	waiter_uid = task->real_cred->euid.val;
	holder_uid = waker->real_cred->euid.val;
	pair.waiter = task->tgid;
	pair.holder = waker->tgid;
	pair.cause = cause;
	if (cause == FUTEX || cause == LOCAL) {
		put_down(&pair, now - from, waiter_uid, holder_uid, waker);
		return 0;
	}
	before = bpf_task_storage_get(&waits, waker, 0, 0);
	if (before && (before == own || before->held_cause != cause))
		before = 0;
	lower = own->since_ns;
	if (before && before->held[0].until_ns > lower)
		from = before->held[0].until_ns;
	put_down(&pair, now - from, waiter_uid, holder_uid, waker);
	for (i = 0; i < HOLDERS && before && from > lower; i++) {
		__u64 until = i + 1 < HOLDERS ? before->held[i + 1].until_ns : 0;

		held = &before->held[i];
		if (until < lower)
			until = lower;
		pair.holder = held->pid;
		if (from > until)
			put_down(&pair, from - until, waiter_uid, held->uid, 0);
		from = until;
	}
	for (i = HOLDERS - 1; i > 0; i--) {
		if (before)
			own->held[i] = before->held[i - 1];
		else
			own->held[i].until_ns = 0;
	}
	own->held[0].until_ns = now;
	own->held[0].pid = waker->tgid;
	own->held[0].uid = holder_uid;
	own->held_cause = cause;
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
	__u64 now, since, until, cause;
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
		own->clock_ns = 0;
		own->since_ns = now;
	}
	for (i = 0; i < CAUSES; i++)
		record.ns[i] = own->ns[i];
	/* It may end at this very moment: read once, lest it be counted from zero. */
	since = *(volatile __u64 *)&own->since_ns;
	if (since) {
		/* One that still is held back has not been let go, whatever its queue has counted. */
		until = is_throttled(task) ? now : end_of_wait(own, now);
		cause = own->cause;
		if (cause < CAUSES && until > since)
			record.ns[cause] += until - since;
	}
	if (!bpf_core_field_exists(((struct task_struct___queue *)task)->throttled))
		record.ns[QUOTA] = ~0ULL;
	bpf_seq_write(seq, &record, sizeof(record));
	return 0;
}

/*
 * The record of every task and its waits in one visit. Of a wait that goes on since the last pass only that is told: who sleeps costs
 * no more than a look.
 */
SEC("tp_btf/iterator")
int dump_both(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct wait_sums sums = {};
	__u64 mark = NO_WAITS, since;
	struct waits *own = 0;
	int i;

	if (!task)
		return 0;
	write_task(seq, task);
	/* What slept when this began was taken up then (dump_waits); what has begun since has its sums from its first sleep. */
	if (!(task->flags & PF_KTHREAD) && !task->exit_state)
		own = bpf_task_storage_get(&waits, task, 0, 0);
	if (!own) {
		bpf_seq_write(seq, &mark, sizeof(mark));
		return 0;
	}
	since = *(volatile __u64 *)&own->since_ns;
	if (since && own->told_ns == since && !own->woken_ns) {
		mark = GOES_ON;
		bpf_seq_write(seq, &mark, sizeof(mark));
		return 0;
	}
	for (i = 0; i < CAUSES; i++)
		sums.ns[i] = ((volatile __u64 *)own->ns)[i];
	/* A wait that ends at this very moment is in one of both, or comes with the next pass: never in both. */
	since = *(volatile __u64 *)&own->since_ns;
	if (since) {
		__u64 now = bpf_ktime_get_ns();

		/* One that still is held back has not been let go, whatever its queue has counted. */
		sums.until_ns = is_throttled(task) ? now : end_of_wait(own, now);
		sums.cause = own->cause;
		sums.since_ns = since;
		/* Of what has ended, or is the run queue's, the end may have to be told anew. */
		if (!own->woken_ns && sums.cause != QUOTA)
			own->told_ns = since;
	}
	if (!bpf_core_field_exists(((struct task_struct___queue *)task)->throttled))
		sums.ns[QUOTA] = ~0ULL;
	mark = SUMS;
	bpf_seq_write(seq, &mark, sizeof(mark));
	bpf_seq_write(seq, &sums, sizeof(sums));
	return 0;
}
