/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The record of a task: what /proc/PID/stat, schedstat and io say of it, in the kernel's own units.
 *
 * A thread that is the first of its process is followed by what the kernel keeps of the whole process: the sums of threads that
 * have ended and of children that were waited for. src/ebpf/tasks.rs reads the same layout.
 */
#pragma once

#include "kernel.h"

struct thread_record {
	__u32 pid, tgid;
	__u32 state, exit_state;
	__u64 start_ns;
	__u64 exec_ns, run_delay_ns;
	__u64 user_ns, system_ns;
	__u64 minor_faults, major_faults;
	__u64 read_bytes, write_bytes;
	char name[16];
};

struct process_record {
	__u32 parent, session;
	__u32 uid, flags;
	__u64 ended_exec_ns, ended_user_ns, ended_system_ns;
	__u64 told_user_ns, told_system_ns;
	__u64 ended_minor_faults, ended_major_faults;
	__u64 ended_read_bytes, ended_write_bytes;
	__u64 children_user_ns, children_system_ns;
	__u64 children_minor_faults, children_major_faults;
	__u64 cgroup;
	__s64 resident_pages[3];
};

static __always_inline void fill_resident(struct process_record *record, struct mm_struct *mm)
{
	/* Pages of files, anonymous ones, shared memory. */
	if (bpf_core_field_exists(mm->rss_stat[0].count)) {
		record->resident_pages[0] = mm->rss_stat[0].count;
		record->resident_pages[1] = mm->rss_stat[1].count;
		record->resident_pages[2] = mm->rss_stat[3].count;
	} else {
		struct mm_struct___old *old = (void *)mm;

		/* By their addresses: the verifier of those kernels does not follow an array of such a type. */
		bpf_core_read(&record->resident_pages[0], 8, &old->rss_stat.count[0].counter);
		bpf_core_read(&record->resident_pages[1], 8, &old->rss_stat.count[1].counter);
		bpf_core_read(&record->resident_pages[2], 8, &old->rss_stat.count[3].counter);
	}
}

static __always_inline void write_process(struct seq_file *seq, struct task_struct *task)
{
	struct process_record record = {};
	struct signal_struct *signal = task->signal;
	struct mm_struct *mm = task->mm;

	record.parent = task->real_parent->tgid;
	record.uid = task->real_cred->euid.val;
	record.flags = task->flags;
	record.cgroup = task->cgroups->dfl_cgrp->kn->id;
	if (signal) {
		/* The session. */
		struct pid *session = signal->pids[3];
		if (session)
			record.session = session->numbers[0].nr;
		record.ended_exec_ns = signal->sum_sched_runtime;
		record.ended_user_ns = signal->utime;
		record.ended_system_ns = signal->stime;
		record.told_user_ns = signal->prev_cputime.utime;
		record.told_system_ns = signal->prev_cputime.stime;
		record.ended_minor_faults = signal->min_flt;
		record.ended_major_faults = signal->maj_flt;
		record.ended_read_bytes = signal->ioac.read_bytes;
		record.ended_write_bytes = signal->ioac.write_bytes;
		record.children_user_ns = signal->cutime;
		record.children_system_ns = signal->cstime;
		record.children_minor_faults = signal->cmin_flt;
		record.children_major_faults = signal->cmaj_flt;
	}
	/* A kernel thread has a user's storage on loan only. */
	if (mm && !(record.flags & PF_KTHREAD))
		fill_resident(&record, mm);
	bpf_seq_write(seq, &record, sizeof(record));
}

static __always_inline void write_task(struct seq_file *seq, struct task_struct *task)
{
	struct thread_record record = {};

	record.pid = task->pid;
	record.tgid = task->tgid;
	record.state = state_of(task);
	record.exit_state = task->exit_state;
	record.start_ns = task->start_boottime;
	record.exec_ns = task->se.sum_exec_runtime;
	record.run_delay_ns = task->sched_info.run_delay;
	record.user_ns = task->utime;
	record.system_ns = task->stime;
	record.minor_faults = task->min_flt;
	record.major_faults = task->maj_flt;
	record.read_bytes = task->ioac.read_bytes;
	record.write_bytes = task->ioac.write_bytes;
	((__u64 *)record.name)[0] = ((__u64 *)task->comm)[0];
	((__u64 *)record.name)[1] = ((__u64 *)task->comm)[1];
	bpf_seq_write(seq, &record, sizeof(record));
	if (record.pid == record.tgid)
		write_process(seq, task);
}
