/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How long users at pseudo-terminals wait: from the end of a line to the first output and to the next wait for input.
 *
 * What is written to a terminal's other end (its keys) or by its programs (its output) is handed on by work items of one function of
 * the kernel; where a process with that terminal goes to sleep with a place in the terminal's queue of readers, it waits for its user. A
 * line is under way from its carriage return until then. Bytes are looked at to find ends of lines, interrupts and the
 * end of the echo; none is kept, and none leaves the kernel.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct wait_queue_entry {
	void *private;
	struct list_head entry;
};

struct wait_queue_head {
	struct list_head head;
};

/* An entry of poll and select. */
struct poll_table_entry {
	struct wait_queue_entry wait;
	struct wait_queue_head *wait_address;
};

struct poll_wqueues {
	struct task_struct *polling_task;
};

/* An entry of epoll. */
struct eventpoll {
	struct wait_queue_head wq;
};

struct epitem {
	struct eventpoll *ep;
};

struct eppoll_entry {
	struct epitem *base;
	struct wait_queue_entry wait;
	struct wait_queue_head *whead;
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct tty_buffer {
	int used, read;
	__u8 data[0];
};

struct tty_bufhead {
	struct tty_buffer *head;
	struct work_struct work;
	struct tty_buffer *tail;
};

struct tty_driver {
	int major;
};

struct ktermios {
	unsigned int c_oflag, c_lflag;
	unsigned char c_cc[19];
};

struct tty_port;

struct tty_struct {
	int index;
	struct tty_driver *driver;
	struct tty_port *port;
	struct ktermios termios;
	struct {
		struct pid *pgrp;
		struct pid *session;
	} ctrl;
	struct tty_struct *link;
	struct wait_queue_head read_wait;
};

struct tty_port {
	struct tty_bufhead buf;
	struct tty_struct *itty;
};

/* More of it than kernel.h has. */
struct signal_struct___terminal {
	int leader;
	struct tty_struct *tty;
};

/* Two numbers of 64 bits that stand one after the other: how bytes anywhere are read as numbers. */
struct timespec64 {
	__s64 tv_sec;
};

#pragma clang attribute pop

/* Device numbers of the two ends; the same on every Linux. */
#define MASTER_MAJOR 128
#define SLAVE_MAJOR 136

#define ISIG 1
#define ICANON 2
#define OPOST 1
#define VINTR 0
#define VQUIT 1
#define VSUSP 10
#define STATE_INTERRUPTIBLE 1

/* Readers in a terminal's queue that are looked at. */
#define READERS 4
/* Bytes of input looked at for the end of a line, of output for the end of the echo, and behind that. */
#define INPUT_BYTES 64
#define ECHO_BYTES 256
#define MODE_BYTES 48

enum state {
	/* No line under way. */
	IDLE,
	UNDER_WAY,
	/* Somebody waits for input, but may have been given the line only to hand it on. */
	ASKING,
	/* Its record is being made. */
	ENDING,
};

/* src/ebpf/terminals.rs has the same numbers. */
enum flag {
	/* Interrupted, quit or stopped by a key. */
	INTERRUPTED = 1,
	/* It started a program in the foreground. */
	COMMAND = 2,
	/* All bytes go through this terminal as they are: who reads it hands them on, or is a full-screen program. */
	RAW = 4,
	/* Lines are made by the kernel. */
	CANONICAL = 8,
	/* Whoever waits for input is the session's leader. */
	LEADER = 16,
};

struct terminal {
	/* Number of the process that leads it. */
	__u64 session;
	__u64 state;
	__u64 key_ns, line_ns, first_ns, any_ns, last_ns, asleep_ns, before_ns, doubtful_ns;
	__u64 input_tail, output_tail;
	__u32 input_seen, output_seen;
	__u32 echo_over, escape;
	__u32 index, leader_pid;
	__u32 reader, uid;
	__u32 flags, typed_ahead;
	char name[16];
	/* When the keys were written that are still to be handed on, and by how much the line's end may have come before or after. */
	__u64 queued_ns, uncertain_ns;
	/* What has been written, but not yet handed on to whoever shows it. */
	__u64 waits;
};

/* What is known of a line by its writing; the user sees it when it is handed on. */
enum shown {
	ANY = 1,
	FIRST = 2,
	PROMPT = 4,
};

struct line {
	__u64 before_ns, key_ns, line_ns, uncertain_ns, first_ns, last_ns, asleep_ns;
	__u32 index, leader_pid;
	__u32 reader, uid;
	__u32 flags, typed_ahead;
	char name[16];
};

/* By the address of the terminal's users' end. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct terminal);
} terminals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct terminal);
} blank SEC(".maps");

/* Lines that have ended, until they are read. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct line);
} lines SEC(".maps");

enum {
	/* Address of the function that hands on what is written to a terminal. */
	HAND_ON,
	SEQUENCE,
	NUMBERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUMBERS);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

/* See forgotten(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} scratch SEC(".maps");

LOST_MAP

static __always_inline void count_lost_lines(__u64 count)
{
	__u32 zero = 0;
	__u64 *sum = bpf_map_lookup_elem(&lost, &zero);

	if (sum)
		*sum += count;
}

/* The thread that writes to a terminal of its own when all is attached, so that the function can be known by what it does. */
const volatile __u32 learner = 0;
/* Whether names of commands are wanted. */
const volatile __u32 names = 0;

static __always_inline struct tty_struct *terminal_of(struct task_struct *task)
{
	struct signal_struct___terminal *signal = (void *)GET(task, signal);

	return signal ? GET(signal, tty) : 0;
}

/* Number of the process that leads a terminal's session; 0: it is nobody's. */
static __always_inline __u64 session_of(struct tty_struct *tty)
{
	struct pid *session = GET(tty, ctrl.session);

	return session ? GET(session, numbers[0].nr) : 0;
}

static __always_inline int major_of(struct tty_struct *tty)
{
	struct tty_driver *driver = GET(tty, driver);

	return GET(driver, major);
}

static __always_inline struct tty_port *port_of(struct work_struct *work)
{
	__u64 place = (__u64)work - bpf_core_field_offset(struct tty_port, buf) - bpf_core_field_offset(struct tty_bufhead, work);

	return AS(place, struct tty_port);
}

static __always_inline __u8 byte_at(__u64 place)
{
	struct timespec64 *number;
	__u8 byte;

	if (can_cast()) {
		number = bpf_rdonly_cast((void *)place, bpf_core_type_id_kernel(struct timespec64));
		return number->tv_sec;
	}
	bpf_probe_read_kernel(&byte, 1, (void *)place);
	return byte;
}

#define NO_BYTE 0x100

/* 1 where both are equal, else 0; without a branch, of which the verifier would follow both sides for each byte. */
static __always_inline __u64 is(__u64 byte, __u64 other)
{
	__u64 difference = byte ^ other;

	asm volatile("" : "+r"(difference));
	return (difference - 1) >> 63;
}

static __always_inline __u64 data_of(struct tty_buffer *buffer)
{
	return (__u64)buffer + bpf_core_field_offset(struct tty_buffer, data);
}

/* Whether this is work that hands on what was written to a terminal. */
static __always_inline bool hands_on(struct work_struct *work, __u64 function)
{
	__u32 place = HAND_ON;
	__u64 *known = bpf_map_lookup_elem(&numbers, &place);
	struct tty_struct *tty;
	struct tty_port *port;

	if (!known)
		return 0;
	if (*known)
		return *known == function;
	if ((__u32)bpf_get_current_pid_tgid() != learner)
		return 0;
	port = port_of(work);
	tty = GET(port, itty);
	if (tty && (__u64)GET(tty, port) == (__u64)port &&
	    (major_of(tty) == MASTER_MAJOR || major_of(tty) == SLAVE_MAJOR))
		*known = function;
	return 0;
}

/* Who sleeps at this place of a terminal's queue of readers; may be nobody. */
static __always_inline struct task_struct *sleeper(struct wait_queue_entry *entry, __u64 queue)
{
	__u64 private = (__u64)GET(entry, private);
	struct poll_table_entry *polled;
	struct eppoll_entry *watched;
	struct epitem *item;
	struct eventpoll *events;
	struct list_head *first;
	__u64 place;

	if (private) {
		place = (__u64)entry - bpf_core_field_offset(struct poll_table_entry, wait);
		polled = AS(place, struct poll_table_entry);
		if ((__u64)GET(polled, wait_address) == queue) {
			struct poll_wqueues *all = AS(private, struct poll_wqueues);

			return GET(all, polling_task);
		}
		return AS(private, struct task_struct);
	}
	place = (__u64)entry - bpf_core_field_offset(struct eppoll_entry, wait);
	watched = AS(place, struct eppoll_entry);
	if ((__u64)GET(watched, whead) != queue)
		return 0;
	item = GET(watched, base);
	events = GET(item, ep);
	place = (__u64)events + bpf_core_field_offset(struct eventpoll, wq) + bpf_core_field_offset(struct wait_queue_head, head);
	first = GET(events, wq.head.next);
	if (!events || (__u64)first == place)
		return 0;
	place = (__u64)first - bpf_core_field_offset(struct wait_queue_entry, entry);
	entry = AS(place, struct wait_queue_entry);
	return AS(GET(entry, private), struct task_struct);
}

enum waiting {
	NOBODY,
	/* The one asked for; or, of any, one whose terminal this is. */
	OWN,
	/* Somebody else's process reads this terminal: a multiplexer's server. */
	FOREIGN,
};

/* Who waits for input of a terminal: `wanted`, or anybody who sleeps. */
static __always_inline enum waiting waits_for(struct tty_struct *tty, struct task_struct *wanted)
{
	__u64 queue = (__u64)tty + bpf_core_field_offset(struct tty_struct, read_wait);
	__u64 end = queue + bpf_core_field_offset(struct wait_queue_head, head);
	struct list_head *place = GET(tty, read_wait.head.next);
	enum waiting found = NOBODY;
	int i;

	for (i = 0; i < READERS; i++) {
		struct wait_queue_entry *entry;
		struct task_struct *task;
		__u64 start;

		if (!place || (__u64)place == end)
			break;
		start = (__u64)place - bpf_core_field_offset(struct wait_queue_entry, entry);
		entry = AS(start, struct wait_queue_entry);
		task = sleeper(entry, queue);
		if (wanted) {
			if ((__u64)task == (__u64)wanted)
				return OWN;
		} else if (task) {
			if ((__u64)terminal_of(task) != (__u64)tty)
				found = FOREIGN;
			else if (GET(task, __state) & STATE_INTERRUPTIBLE)
				return OWN;
		}
		place = GET(place, next);
	}
	return found;
}

/* Makes the record of a line that has ended, unless somebody else does. */
static __always_inline void end_line(struct terminal *terminal, __u64 from)
{
	struct line line = {};
	__u32 place = SEQUENCE;
	__u64 *sequence = bpf_map_lookup_elem(&numbers, &place);
	__u64 number;

	if (!sequence || __sync_val_compare_and_swap(&terminal->state, from, ENDING) != from)
		return;
	line.before_ns = terminal->before_ns;
	line.key_ns = terminal->key_ns;
	line.line_ns = terminal->line_ns;
	line.uncertain_ns = terminal->uncertain_ns;
	line.first_ns = terminal->first_ns;
	line.asleep_ns = from == ASKING ? terminal->asleep_ns : 0;
	line.last_ns = terminal->last_ns;
	line.index = terminal->index;
	line.leader_pid = terminal->leader_pid;
	line.reader = terminal->reader;
	line.uid = terminal->uid;
	line.flags = terminal->flags;
	line.typed_ahead = terminal->typed_ahead;
	__builtin_memcpy(line.name, terminal->name, sizeof(line.name));
	/* Where no byte came that could be told from an echo, the first of all. */
	if (!line.first_ns || (line.asleep_ns && line.first_ns > line.asleep_ns))
		line.first_ns = terminal->any_ns;
	number = __sync_fetch_and_add(sequence, 1);
	if (bpf_map_update_elem(&lines, &number, &line, BPF_ANY))
		count_lost_lines(1 + line.typed_ahead);
	terminal->before_ns = line.asleep_ns;
	terminal->key_ns = 0;
	terminal->state = IDLE;
}

static __always_inline void begin_line(struct terminal *terminal, struct tty_struct *tty, __u64 now, __u64 uncertain)
{
	unsigned int local = GET(tty, termios.c_lflag), output = GET(tty, termios.c_oflag);
	struct tty_struct *other = GET(tty, link);
	struct tty_port *port = GET(other, port);
	struct tty_buffer *tail;
	__u32 flags = 0;

	if (local & ICANON)
		flags |= CANONICAL;
	else if (!(local & ISIG) && !(output & OPOST))
		flags |= RAW;
	terminal->flags = flags;
	terminal->line_ns = now - uncertain;
	terminal->uncertain_ns = uncertain;
	terminal->waits = 0;
	terminal->first_ns = terminal->any_ns = terminal->last_ns = 0;
	terminal->asleep_ns = terminal->doubtful_ns = 0;
	terminal->echo_over = terminal->escape = 0;
	terminal->typed_ahead = 0;
	__builtin_memset(terminal->name, 0, sizeof(terminal->name));
	/* What is shown from here on. */
	tail = GET(port, buf.tail);
	terminal->output_tail = (__u64)tail;
	terminal->output_seen = GET(tail, used);
	terminal->state = UNDER_WAY;
}

/*
 * The same number, of which the verifier knows no more what it can be: it need not look at what follows a loop once for each number of passes
 * through it.
 */
static __always_inline __u64 forgotten(__u64 number)
{
	__u32 zero = 0;
	volatile __u64 *place = bpf_map_lookup_elem(&scratch, &zero);

	if (!place)
		return number;
	*place = number;
	return *place;
}

/* Keys have come: just now, or where they are handed on, while others waited for that. */
static __always_inline void take_input(struct tty_struct *tty, struct tty_port *port, bool handed_on)
{
	__u64 uncertain = 0;
	struct tty_buffer *tail = GET(port, buf.tail);
	__u64 key = (__u64)tty, now = bpf_ktime_get_ns(), session = session_of(tty);
	__u32 used = GET(tail, used), at, i, ends = 0, stops = 0, zero = 0;
	__u64 interrupt = NO_BYTE, quit = NO_BYTE, suspend = NO_BYTE;
	struct terminal *terminal;
	__u64 data = data_of(tail);

	/* Nobody's terminal: programs talk to each other. */
	if (!session)
		return;
	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal) {
		struct terminal *first = bpf_map_lookup_elem(&blank, &zero);

		if (!first)
			return;
		if (bpf_map_update_elem(&terminals, &key, first, BPF_NOEXIST))
			count_lost();
		terminal = bpf_map_lookup_elem(&terminals, &key);
		if (!terminal)
			return;
	}
	if (terminal->session != session) {
		/* The address of a terminal that was closed, used again. */
		if (terminal->state == ASKING)
			end_line(terminal, ASKING);
		else if (terminal->state == UNDER_WAY)
			end_line(terminal, UNDER_WAY);
		terminal->before_ns = terminal->key_ns = 0;
		terminal->reader = 0;
		terminal->input_tail = 0;
		terminal->session = session;
		terminal->index = GET(tty, index);
		terminal->leader_pid = session;
	}
	if (!handed_on) {
		terminal->queued_ns = now;
	} else {
		if (terminal->queued_ns && now > terminal->queued_ns)
			uncertain = (now - terminal->queued_ns) / 2;
		terminal->queued_ns = 0;
	}
	if (terminal->input_tail != (__u64)tail || terminal->input_seen > used) {
		terminal->input_tail = (__u64)tail;
		terminal->input_seen = GET(tail, read);
	}
	at = terminal->input_seen;
	if (at >= used)
		return;
	terminal->input_seen = used;
	if (used - at > INPUT_BYTES)
		at = used - INPUT_BYTES;
	/* A terminal without such a key has zero there. */
	if (GET(tty, termios.c_lflag) & ISIG) {
		interrupt = GET(tty, termios.c_cc[VINTR]);
		quit = GET(tty, termios.c_cc[VQUIT]);
		suspend = GET(tty, termios.c_cc[VSUSP]);
		interrupt = interrupt ? interrupt : NO_BYTE;
		quit = quit ? quit : NO_BYTE;
		suspend = suspend ? suspend : NO_BYTE;
	}
	for (i = 0; i < INPUT_BYTES; i++) {
		__u64 byte;

		if (at >= used)
			break;
		byte = byte_at(data + at);
		ends += is(byte, '\r') + is(byte, '\n');
		stops += is(byte, interrupt) + is(byte, quit) + is(byte, suspend);
		at++;
	}
	/* Two numbers below 2^16 in one. */
	i = forgotten(ends | stops << 16);
	ends = i & 0xffff;
	stops = i >> 16;
	/* Whoever asked is answered: it was the line's end. */
	if (terminal->state == ASKING)
		end_line(terminal, ASKING);
	/* A multiplexer has this terminal now; its users' lines are at the terminals that it makes. */
	if ((ends || terminal->state == UNDER_WAY) && waits_for(tty, 0) == FOREIGN) {
		end_line(terminal, UNDER_WAY);
		terminal->before_ns = terminal->key_ns = 0;
		return;
	}
	if (!terminal->key_ns)
		terminal->key_ns = now;
	if (stops && terminal->state == UNDER_WAY)
		terminal->flags |= INTERRUPTED;
	if (!ends)
		return;
	if (terminal->state == IDLE) {
		begin_line(terminal, tty, now, uncertain);
		ends--;
	}
	terminal->typed_ahead += ends;
}

/* What was written is handed on, so that the user sees it. */
static __always_inline void show(struct terminal *terminal, __u64 now)
{
	__u64 waits = terminal->waits;

	if (!waits)
		return;
	terminal->waits = 0;
	if (waits & ANY)
		terminal->any_ns = now;
	if (waits & FIRST)
		terminal->first_ns = now;
	if (!(waits & PROMPT) || terminal->state != ASKING)
		return;
	terminal->asleep_ns = now;
	if (terminal->flags & LEADER && !(terminal->flags & RAW))
		end_line(terminal, ASKING);
}

/*
 * Passes the echo up to its new line, then what moves the cursor or sets modes. Whether there is anything behind that. How far it came
 * stays in memory: in a register the verifier would follow each of its values.
 */
static __always_inline bool echo_ends(struct terminal *terminal, struct tty_buffer *buffer, __u32 at, __u32 used)
{
	volatile __u32 *escape = &terminal->escape;
	__u64 data = data_of(buffer), found = 0, passed = 0;
	__u32 i;

	if (!terminal->echo_over) {
		for (i = 0; i < ECHO_BYTES; i++) {
			if (at + i >= used)
				break;
			found |= is(byte_at(data + at + i), '\n');
			passed += 1 - found;
		}
		/* More than any echo. */
		if (!forgotten(found))
			return used - at > ECHO_BYTES;
		terminal->echo_over = 1;
		at += forgotten(passed) + 1;
	}
	for (i = 0; i < MODE_BYTES; i++) {
		__u32 before = *escape;
		__u8 byte;

		if (at >= used)
			return 0;
		byte = byte_at(data + at);
		at++;
		if (before == 0 && (byte == '\r' || byte == '\n'))
			continue;
		if (before == 0 && byte != 0x1b)
			return 1;
		if (before == 1 && byte != '[')
			return 1;
		*escape = before < 2 ? before + 1 : byte < 0x40 ? 2 : 0;
	}
	return 1;
}

/* Something is shown, by the running task or, where the kernel hands on, by whoever wrote before. */
static __always_inline void take_output(struct tty_struct *tty, struct tty_port *port)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tty_buffer *head = GET(port, buf.head), *tail = GET(port, buf.tail);
	struct tty_struct *other = GET(tty, link);
	__u64 key = (__u64)other, now;
	__u32 used = GET(tail, used), at;
	struct terminal *terminal;
	bool ends = 0;

	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal || terminal->state == IDLE || terminal->session != session_of(other))
		return;
	if (terminal->output_tail != (__u64)tail || terminal->output_seen > used) {
		/* One buffer was full: its end has not been seen yet. */
		if (!terminal->first_ns && terminal->output_tail == (__u64)head && (__u64)head != (__u64)tail)
			ends = echo_ends(terminal, head, terminal->output_seen, GET(head, used));
		terminal->output_tail = (__u64)tail;
		terminal->output_seen = GET(tail, read);
	}
	at = terminal->output_seen;
	if (at >= used && !ends)
		return;
	terminal->output_seen = used;
	now = bpf_ktime_get_ns();
	if (!terminal->any_ns) {
		terminal->any_ns = now;
		terminal->waits |= ANY;
	}
	terminal->last_ns = now;
	if (terminal->first_ns)
		return;
	/* Only the reader (an editor of lines) and the kernel echo. */
	if (!(task->flags & PF_WQ_WORKER) && terminal->reader && task->tgid != terminal->reader)
		ends = 1;
	if (!ends && !echo_ends(terminal, tail, at, used))
		return;
	terminal->first_ns = now;
	terminal->waits |= FIRST;
}

static __always_inline void take_output_of(struct tty_struct *master)
{
	take_output(master, GET(master, port));
}

/* Output is handed on. */
static __always_inline void hand_output_on(struct tty_struct *tty)
{
	__u64 key = (__u64)GET(tty, link);
	struct terminal *terminal = bpf_map_lookup_elem(&terminals, &key);

	if (terminal && terminal->state != IDLE)
		show(terminal, bpf_ktime_get_ns());
}

/* A work item that hands on: what was typed, or what is shown; `started`: it runs now, else it was queued. */
static __always_inline void take(struct work_struct *work, int started)
{
	struct tty_struct *tty;
	struct tty_port *port;
	int major;

	if (!hands_on(work, (__u64)work->func))
		return;
	port = port_of(work);
	tty = GET(port, itty);
	if (!tty)
		return;
	major = major_of(tty);
	if (major == SLAVE_MAJOR)
		take_input(tty, port, started);
	else if (major == MASTER_MAJOR) {
		take_output(tty, port);
		if (started)
			hand_output_on(tty);
	}
}

SEC("tp_btf/queue")
int BPF_PROG(on_queue, int processor, void *pool, struct work_struct *work)
{
	take(work, 0);
	return 0;
}

/* What was written while the work was queued already. */
SEC("tp_btf/start")
int BPF_PROG(on_start, struct work_struct *work)
{
	take(work, 1);
	return 0;
}

/* Whether all that was typed has been handed to whoever reads. */
static __always_inline bool handed_on(struct tty_struct *tty)
{
	struct tty_port *port = GET(tty, port);
	struct tty_buffer *head = GET(port, buf.head), *tail = GET(port, buf.tail);

	return (__u64)head == (__u64)tail && GET(head, read) == GET(tail, used);
}

/* Somebody whose terminal it is waits for input since `asleep_ns`. */
static __always_inline void ask(struct terminal *terminal, struct tty_struct *tty, __u64 asleep_ns)
{
	/* A line editor has echoed the line at least; who hands on what comes has shown nothing yet. */
	if (!terminal->any_ns && !(terminal->flags & CANONICAL))
		return;
	terminal->asleep_ns = asleep_ns;
	terminal->state = ASKING;
	if (!handed_on(GET(tty, link))) {
		terminal->waits |= PROMPT;
		return;
	}
	/* The shell asks: no doubt that all is over. */
	if (terminal->flags & LEADER && !(terminal->flags & RAW))
		end_line(terminal, ASKING);
}

SEC("tp_btf/end")
int BPF_PROG(on_end, struct work_struct *work)
{
	struct terminal *terminal;
	struct tty_struct *tty;
	struct tty_port *port;
	__u64 key, doubtful_ns;

	if (!hands_on(work, (__u64)work->func))
		return 0;
	port = port_of(work);
	tty = GET(port, itty);
	if (!tty)
		return 0;
	if (major_of(tty) == MASTER_MAJOR) {
		hand_output_on(tty);
		return 0;
	}
	key = (__u64)tty;
	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal || terminal->state != UNDER_WAY || terminal->session != session_of(tty))
		return 0;
	/* It went to sleep before this work had come to its end, which looked as if there were more to come. */
	doubtful_ns = terminal->doubtful_ns;
	if (doubtful_ns > terminal->line_ns && waits_for(tty, 0) == OWN && handed_on(tty))
		ask(terminal, tty, doubtful_ns);
	return 0;
}

SEC("tp_btf/switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct tty_struct *tty = terminal_of(prev);
	struct signal_struct___terminal *signal;
	struct terminal *terminal;
	__u64 key = (__u64)tty, state;

	if (!tty || preempt || !(state_of(prev) & STATE_INTERRUPTIBLE))
		return 0;
	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal)
		return 0;
	state = terminal->state;
	/* The line of one that was closed stands at the same address. */
	if (state == ENDING || terminal->session != session_of(tty))
		return 0;
	/* A full-screen program that is woken by its own clock; a shell whose prompt stands. */
	if (state != UNDER_WAY && terminal->reader == prev->tgid)
		return 0;
	if (waits_for(tty, prev) != OWN)
		return 0;
	if (state == IDLE) {
		/* It has the terminal back, though no line was entered: the next echo is its own. */
		terminal->reader = prev->tgid;
		terminal->uid = prev->real_cred->euid.val;
		return 0;
	}
	signal = (void *)prev->signal;
	terminal->uid = prev->real_cred->euid.val;
	if (signal->leader)
		terminal->flags |= LEADER;
	else
		terminal->flags &= ~LEADER;
	if (names && !(terminal->flags & COMMAND))
		bpf_get_current_comm(terminal->name, sizeof(terminal->name));
	if (handed_on(tty)) {
		/* What has not been handed on to whoever shows it. */
		if (!terminal->first_ns)
			take_output_of(GET(tty, link));
		terminal->reader = prev->tgid;
		ask(terminal, tty, bpf_ktime_get_ns());
	} else {
		terminal->doubtful_ns = bpf_ktime_get_ns();
		terminal->reader = prev->tgid;
	}
	return 0;
}

SEC("tp_btf/exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct tty_struct *tty = terminal_of(task);
	struct terminal *terminal;
	__u64 key = (__u64)tty;
	struct pid *group;

	if (!tty)
		return 0;
	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal || terminal->state != UNDER_WAY || terminal->flags & COMMAND)
		return 0;
	if (terminal->session != session_of(tty))
		return 0;
	/* The first of the group in the foreground: not what a prompt or a script calls. */
	group = GET(tty, ctrl.pgrp);
	if (GET(group, numbers[0].nr) != task->pid)
		return 0;
	terminal->flags |= COMMAND;
	if (names)
		bpf_get_current_comm(terminal->name, sizeof(terminal->name));
	return 0;
}

SEC("tp_btf/exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct tty_struct *tty = terminal_of(task);
	struct signal_struct___terminal *signal = (void *)task->signal;
	struct terminal *terminal;
	__u64 key = (__u64)tty;

	if (!tty || !signal->leader || task->pid != task->tgid)
		return 0;
	terminal = bpf_map_lookup_elem(&terminals, &key);
	if (!terminal || terminal->session != session_of(tty))
		return 0;
	if (!terminal->reader)
		terminal->uid = task->real_cred->euid.val;
	if (!terminal->reader)
		terminal->reader = task->tgid;
	/* A line that ends the session has no other answer. One that is hung up has no terminal any more. */
	if (terminal->state == UNDER_WAY) {
		if (!terminal->first_ns)
			take_output_of(GET(tty, link));
		terminal->asleep_ns = bpf_ktime_get_ns();
		terminal->flags |= LEADER;
		terminal->state = ASKING;
	}
	end_line(terminal, ASKING);
	bpf_map_delete_elem(&terminals, &key);
	return 0;
}
