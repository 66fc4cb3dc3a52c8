/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the programs use of the kernel, and no more: the loader finds each field in the running kernel's own type
 * information by its name, whatever stands around it. A field that some kernels lack is asked for with
 * bpf_core_field_exists() before it is read.
 */
#pragma once

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef _Bool bool;

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/*
 * Functions of the kernel that are no helpers. The loader knows the numbers (kfuncs in src/ebpf/object.rs) and puts calls of
 * the functions in their place.
 */
static void *(*const bpf_rdonly_cast)(const void *object, __u32 type) = (void *)0x7fff0000;

/*
 * Whether the kernel has it, as those since 6.2: the loader puts 1 or 0 in the place of this number, and the verifier leaves out what is not
 * reached then.
 */
static __always_inline bool can_cast(void)
{
	__u64 there;

	asm("%0 = 0x7fff1000" : "=r"(there));
	return there;
}

/*
 * A structure of the kernel's at a place that the verifier knows nothing of, and a field of one that may be such: read by its type, or, on
 * kernels before 6.2, by its address (which lockdown for confidentiality forbids).
 */
#define AS(place, type)                                                                                                \
	((type *)(can_cast() ? bpf_rdonly_cast((void *)(place), bpf_core_type_id_kernel(type)) : (void *)(place)))
#define GET(object, field)                                                                                             \
	(can_cast() ? (object)->field : ({                                                                             \
		__typeof__((object)->field) got;                                                                       \
		bpf_core_read(&got, sizeof(got), &(object)->field);                                                    \
		got;                                                                                                   \
	}))

#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct kuid {
	__u32 val;
};

struct cred {
	struct kuid uid, euid;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_io_accounting {
	__u64 read_bytes, write_bytes;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct list_head {
	struct list_head *next;
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct inode {
	unsigned short i_mode;
};

struct file {
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct prev_cputime {
	__u64 utime, stime;
};

struct signal_struct {
	int nr_threads;
	struct pid *pids[4];
	__u64 utime, stime, cutime, cstime;
	struct prev_cputime prev_cputime;
	unsigned long min_flt, maj_flt, cmin_flt, cmaj_flt;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
};

struct percpu_counter {
	__s64 count;
};

struct mm_struct {
	/* Since 6.2. */
	struct percpu_counter rss_stat[4];
};

struct atomic_long___old {
	__s64 counter;
};

struct mm_rss_stat___old {
	struct atomic_long___old count[4];
};

struct mm_struct___old {
	struct mm_rss_stat___old rss_stat;
};

struct task_struct {
	/* `state` before 5.14. */
	unsigned int __state;
	int exit_state;
	unsigned int flags;
	int pid, tgid;
	struct task_struct *real_parent;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct files_struct *files;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_io_accounting ioac;
	__u64 start_boottime, utime, stime;
	unsigned long min_flt, maj_flt;
	char comm[16];
	unsigned in_iowait : 1;
};

struct task_struct___old {
	volatile long state;
};

struct pt_regs {
	unsigned long di, si, orig_ax;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* What a program wrote in vain, because a map was full or memory short: read and reset by the monitor. */
#define LOST_MAP                                                                                                       \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                               \
		__uint(max_entries, 1);                                                                                \
		__type(key, __u32);                                                                                    \
		__type(value, __u64);                                                                                  \
	} lost SEC(".maps");                                                                                           \
	static __always_inline void count_lost(void)                                                                   \
	{                                                                                                              \
		__u32 zero = 0;                                                                                        \
		__u64 *count = bpf_map_lookup_elem(&lost, &zero);                                                      \
		if (count)                                                                                             \
			(*count)++;                                                                                    \
	}

/* The file of a descriptor below `max_fds`. */
static __always_inline struct file *file_at(struct fdtable *table, __u64 number)
{
	/* The verifier follows pointers to structures only: the first member of this one is the pointer wanted. */
	struct list_head *place = AS((__u64)table->fd + number * 8, struct list_head);

	return AS(GET(place, next), struct file);
}

static __always_inline unsigned int state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___old *)task)->state;
}
