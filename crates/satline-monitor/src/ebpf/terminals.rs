//! Lines that users enter at pseudo-terminals, and how long they wait for them.
//!
//! `ebpf/terminals.bpf.c` follows each line from its end to the first output and to the next wait for input. Ended lines stand in a
//! map until they are read. What is written to a terminal is handed on by a function of the kernel whose address it may hide: the programs
//! learn it from a terminal that is opened for this, written to and closed.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::object::{Hook, Keep, KernelTypes, Loaded, Plan, Refusal, half, load, name, pid, word};

/// The programs.
pub const PLAN: Plan = Plan {
    name: "terminals",
    code: include_bytes!("../../ebpf/terminals.bpf.o"),
    programs: &[
        ("on_exit", Hook::Tracepoint("sched_process_exit")),
        ("on_exec", Hook::Tracepoint("sched_process_exec")),
        ("on_switch", Hook::Tracepoint("sched_switch")),
        ("on_end", Hook::Tracepoint("workqueue_execute_end")),
        ("on_start", Hook::Tracepoint("workqueue_execute_start")),
        ("on_queue", Hook::Tracepoint("workqueue_queue_work")),
    ],
    least_kernel: "5.15",
};

const INTERRUPTED: u32 = 1;
const COMMAND: u32 = 2;
const RAW: u32 = 4;
const LEADER: u32 = 16;

/// A line that has ended. Times are those of CLOCK_MONOTONIC, ns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The wait for input before it.
    pub before_ns: Option<u64>,
    /// Its first key.
    pub key_ns: Option<u64>,
    pub line_ns: u64,
    /// So much earlier or later it may have ended: keys were waiting to be handed on.
    pub uncertain_ns: u64,
    /// The first output that is no echo.
    pub first_ns: Option<u64>,
    /// The last output before the next key.
    pub last_ns: Option<u64>,
    /// The next wait for input; `None`: there was none.
    pub asleep_ns: Option<u64>,
    /// Number of the terminal: 3 is `pts/3`.
    pub terminal: u32,
    /// Process that leads the terminal's session.
    pub leader: i32,
    /// Process that waited for input, then or before; 0: none was seen.
    pub reader: i32,
    /// Its effective user.
    pub uid: u32,
    /// A key interrupted, quit or stopped what ran.
    pub interrupted: bool,
    /// A program was started in the foreground.
    pub command: bool,
    /// Bytes went through the terminal as they were: the reader hands them on, or is a full-screen program.
    pub raw: bool,
    /// Whoever waits for input leads the session, as a shell does.
    pub shell: bool,
    /// Lines that came while it was under way; they are part of it.
    pub typed_ahead: u32,
    /// Of the program started, else of the reader. Empty unless names were asked for.
    pub name: Vec<u8>,
}

/// A value of the map `lines`.
fn line(value: &[u8]) -> Option<Line> {
    let time = |place| word(value, place).filter(|&ns| ns != 0);
    let flags = half(value, 72)?;
    Some(Line {
        before_ns: time(0),
        key_ns: time(8),
        line_ns: word(value, 16)?,
        uncertain_ns: word(value, 24)?,
        first_ns: time(32),
        last_ns: time(40),
        asleep_ns: time(48),
        terminal: half(value, 56)?,
        leader: pid(value, 60)?,
        reader: pid(value, 64)?,
        uid: half(value, 68)?,
        interrupted: flags & INTERRUPTED != 0,
        command: flags & COMMAND != 0,
        raw: flags & RAW != 0,
        shell: flags & LEADER != 0,
        typed_ahead: half(value, 76)?,
        name: name(value, 80)?.to_vec(),
    })
}

/// What stands of a terminal in the map `terminals`.
struct Standing {
    state: u64,
    leader: i32,
    line: Line,
}

impl Standing {
    const UNDER_WAY: u64 = 1;
    const ASKING: u64 = 2;

    fn of(value: &[u8]) -> Option<Self> {
        let time = |place| word(value, place).filter(|&ns| ns != 0);
        let state = word(value, 8)?;
        let flags = half(value, 128)?;
        let asleep_ns = time(56).filter(|_| state == Self::ASKING);
        let any_ns = time(40);
        Some(Self {
            state,
            leader: pid(value, 116)?,
            line: Line {
                before_ns: time(64),
                key_ns: time(16),
                line_ns: word(value, 24)?,
                uncertain_ns: word(value, 160)?,
                first_ns: time(32)
                    .filter(|&first| asleep_ns.is_none_or(|asleep| first <= asleep))
                    .or(any_ns),
                last_ns: time(48),
                asleep_ns,
                terminal: half(value, 112)?,
                leader: pid(value, 116)?,
                reader: pid(value, 120)?,
                uid: half(value, 124)?,
                interrupted: flags & INTERRUPTED != 0,
                command: flags & COMMAND != 0,
                raw: flags & RAW != 0,
                shell: flags & LEADER != 0,
                typed_ahead: half(value, 132)?,
                name: name(value, 136)?.to_vec(),
            },
        })
    }
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Terminals {
    loaded: Loaded,
}

impl Terminals {
    /// Loads and attaches them. With `names` lines have the names of commands.
    ///
    /// # Errors
    /// The kernel refuses, numbers processes otherwise than `/proc`, or does not tell what is written to a terminal.
    pub fn load(kernel: &KernelTypes, names: bool) -> Result<Self, Refusal> {
        // glibc has a function for it from 2.30 on only, and the wheel is for 2.28.
        // SAFETY: the call only returns a number, that of a thread.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
        let constants = [
            ("learner", thread.to_ne_bytes()),
            ("names", u32::from(names).to_ne_bytes()),
        ];
        let constants = constants.each_ref().map(|(name, value)| (*name, &value[..]));
        let terminals = Self {
            loaded: load(&PLAN, kernel, &constants, &[])?,
        };
        let need = "to run in the first namespace of processes, with /dev/ptmx, on a kernel that hands on terminals' input by work items";
        let wrong = |what: String| Refusal::new(format!("terminals: {what}"), need);
        write_to_own_terminal().map_err(|error| wrong(format!("no terminal can be opened: {error}")))?;
        let mut value = Vec::new();
        let known = terminals
            .loaded
            .map("numbers")?
            .read(&0u32.to_ne_bytes(), &mut value)
            .map_err(|error| wrong(error.to_string()))?;
        if !known || word(&value, 0).is_none_or(|address| address == 0) {
            return Err(wrong("what is written to a terminal is not seen".into()));
        }
        Ok(terminals)
    }

    /// Gives the lines that have ended since the last reading, in the order of their ends. Returns how many were lost since: the map was
    /// full, or more terminals were used at once than can be followed.
    ///
    /// # Errors
    /// The maps cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(Line)) -> io::Result<u64> {
        let mut ended = Vec::new();
        self.loaded.map("lines")?.each(|key, value| {
            if let (Some(number), Some(line)) = (word(key, 0), line(value)) {
                ended.push((number, line));
            }
            Keep::No
        })?;
        ended.sort_unstable_by_key(|&(number, _)| number);
        ended.into_iter().for_each(|(_, line)| each(line));
        self.loaded.newly_lost()
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.loaded.run_time_ns()
    }

    /// Forgets terminals whose session is over, and gives the lines that were under way there: a terminal that is hung up tells
    /// nothing. With `all`, at the end, every line that has not ended.
    ///
    /// # Errors
    /// As [`Terminals::read`].
    pub fn forget(&self, proc: &Path, all: bool, mut each: impl FnMut(Line)) -> io::Result<()> {
        let map = self.loaded.map("terminals")?;
        map.each(|_, value| {
            let Some(standing) = Standing::of(value) else {
                return Keep::No;
            };
            if !all && proc.join(standing.leader.to_string()).exists() {
                return Keep::Yes;
            }
            if [Standing::UNDER_WAY, Standing::ASKING].contains(&standing.state) {
                each(standing.line);
            }
            Keep::No
        })
    }
}

/// Opens a terminal, writes a byte to it and closes it.
fn write_to_own_terminal() -> io::Result<()> {
    let mut master = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open("/dev/ptmx")?;
    let _slave = open_slave(&master)?;
    // Nobody reads it. A form feed ends no line.
    master.write_all(b"\x0c")
}

fn open_slave(master: &File) -> io::Result<File> {
    let mut name = [0; 64];
    // SAFETY: the descriptor is open, and the buffer as long as is said.
    let named = unsafe {
        libc::unlockpt(master.as_raw_fd()) == 0
            && libc::ptsname_r(master.as_raw_fd(), name.as_mut_ptr(), name.len()) == 0
    };
    if !named {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has ended the name with a zero byte.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(name.to_string_lossy().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_the_program_writes_it() {
        let mut value = Vec::new();
        for word in [1_u64, 2, 3, 4, 0, 5, 6] {
            value.extend(word.to_ne_bytes());
        }
        for half in [7_u32, 8, 9, 10, INTERRUPTED | LEADER, 11] {
            value.extend(half.to_ne_bytes());
        }
        value.extend(b"make\0\0\0\0\0\0\0\0\0\0\0\0");
        let expected = Line {
            before_ns: Some(1),
            key_ns: Some(2),
            line_ns: 3,
            uncertain_ns: 4,
            first_ns: None,
            last_ns: Some(5),
            asleep_ns: Some(6),
            terminal: 7,
            leader: 8,
            reader: 9,
            uid: 10,
            interrupted: true,
            command: false,
            raw: false,
            shell: true,
            typed_ahead: 11,
            name: b"make".to_vec(),
        };
        assert_eq!(line(&value), Some(expected));
        assert_eq!(line(&value[..95]), None);
    }
}
