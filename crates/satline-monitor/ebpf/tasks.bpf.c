/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* One record of every task. */
#include "task_record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/iterator")
int dump_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		write_task(ctx->meta->seq, task);
	return 0;
}
