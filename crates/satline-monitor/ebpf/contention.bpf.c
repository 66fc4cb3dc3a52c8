/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long and how often the kernel waits for its own locks, by kind of lock. Only locks that are held by another come here.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Of the tracepoints. */
#define SPINS 1
#define READS 2
#define WRITES 4
#define RT 8
#define PERCPU 16
#define MUTEX 32

/* src/ebpf/contention.rs has the same order. */
enum kind {
	SPINLOCK,
	SPINLOCK_SHARED,
	MUTEXES,
	SEMAPHORE_READ,
	SEMAPHORE_WRITE,
	OTHERS,
	KINDS,
};

struct begun {
	__u64 since_ns, lock, kind;
};

/* A spinning processor does nothing else. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct begun);
} spinning SEC(".maps");

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct begun);
} sleeping SEC(".maps");

/* ns and count of each kind. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * KINDS);
	__type(key, __u32);
	__type(value, __u64);
} sums SEC(".maps");

LOST_MAP

static __always_inline int is_spinlock(unsigned int flags)
{
	return (flags & SPINS) && !(flags & MUTEX);
}

static __always_inline enum kind kind_of(unsigned int flags)
{
	if (flags & MUTEX)
		return MUTEXES;
	if (flags & SPINS)
		return flags & (READS | WRITES) ? SPINLOCK_SHARED : SPINLOCK;
	if (flags & (RT | PERCPU))
		return OTHERS;
	if (flags & READS)
		return SEMAPHORE_READ;
	return flags & WRITES ? SEMAPHORE_WRITE : OTHERS;
}

static __always_inline void put_down(struct begun *begun, __u64 now)
{
	__u32 key = 2 * (__u32)begun->kind;
	__u64 *sum = bpf_map_lookup_elem(&sums, &key);

	if (sum && now > begun->since_ns)
		*sum += now - begun->since_ns;
	key++;
	sum = bpf_map_lookup_elem(&sums, &key);
	if (sum)
		(*sum)++;
}

SEC("tp_btf/begin")
int BPF_PROG(on_begin, void *lock, unsigned int flags)
{
	struct begun first = { .since_ns = bpf_ktime_get_ns(), .lock = (__u64)lock, .kind = kind_of(flags) };
	__u32 zero = 0, tid;
	struct begun *begun;

	if (is_spinlock(flags)) {
		begun = bpf_map_lookup_elem(&spinning, &zero);
		/* An interrupt may spin while what it interrupted does: the outer one counts. */
		if (begun && !begun->lock)
			*begun = first;
		return 0;
	}
	tid = bpf_get_current_pid_tgid();
	begun = bpf_map_lookup_elem(&sleeping, &tid);
	/* One that has spun for a mutex in vain says so again when it goes to sleep. */
	if (begun && begun->lock == first.lock)
		return 0;
	if (bpf_map_update_elem(&sleeping, &tid, &first, BPF_ANY))
		count_lost();
	return 0;
}

SEC("tp_btf/end")
int BPF_PROG(on_end, void *lock, int result)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0, tid;
	struct begun *begun;

	begun = bpf_map_lookup_elem(&spinning, &zero);
	if (begun && begun->lock == (__u64)lock) {
		put_down(begun, now);
		begun->lock = 0;
		return 0;
	}
	tid = bpf_get_current_pid_tgid();
	begun = bpf_map_lookup_elem(&sleeping, &tid);
	if (begun && begun->lock == (__u64)lock) {
		put_down(begun, now);
		bpf_map_delete_elem(&sleeping, &tid);
	}
	return 0;
}
