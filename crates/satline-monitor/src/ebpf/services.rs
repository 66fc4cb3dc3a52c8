//! Requests that services of this host answer over TCP, and how long who asks waits.
//!
//! `ebpf/services.bpf.c` follows each accepted connection by the direction of its bytes. Ended answers stand in a map until they are read.

use std::io;

use super::object::{Hook, Keep, KernelTypes, Loaded, Plan, Refusal, half, load, name, pid, word};

/// The programs.
pub const PLAN: Plan = Plan {
    name: "services",
    code: include_bytes!("../../ebpf/services.bpf.o"),
    programs: &[
        ("on_state", Hook::Tracepoint("inet_sock_set_state")),
        ("on_ready", Hook::Tracepoint("sk_data_ready")),
        ("on_recv", Hook::Tracepoint("sock_recv_length")),
        ("on_piece", Hook::Tracepoint("tcp_sendmsg_locked")),
        ("on_probe", Hook::Tracepoint("tcp_probe")),
        ("on_send", Hook::Tracepoint("sock_send_length")),
    ],
    least_kernel: "6.4",
};

/// Where a kernel does not tell of the pieces: the first byte of an answer is known by the end of the call that writes it.
const WITHOUT_PIECES: Plan = Plan {
    programs: &[
        PLAN.programs[0],
        PLAN.programs[1],
        PLAN.programs[2],
        PLAN.programs[4],
        PLAN.programs[5],
    ],
    ..PLAN
};

const CUT: u32 = 1;

/// A request and its answer. Times are those of CLOCK_MONOTONIC, ns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Of the connection: the same for all that it carries.
    pub connection: u64,
    /// The last byte of the answer before it, or when the connection was accepted.
    pub before_ns: Option<u64>,
    /// When the request's first bytes came, and its last.
    pub asked_ns: u64,
    pub asked_last_ns: u64,
    /// When the process had read them.
    pub read_ns: u64,
    /// The first bytes of the answer, and the last.
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub port: u32,
    /// The process that answered, or read, and its effective user.
    pub pid: i32,
    pub uid: u32,
    /// Requests that came before this one's answer had ended.
    pub ahead: u32,
    /// The connection ended without an answer.
    pub cut: bool,
    /// Of the program. Empty unless names were asked for.
    pub name: Vec<u8>,
}

/// A value of the map `answers`.
fn answer(value: &[u8]) -> Option<Answer> {
    let time = |place| word(value, place).filter(|&ns| ns != 0);
    Some(Answer {
        connection: word(value, 0)?,
        before_ns: time(8),
        asked_ns: word(value, 16)?,
        asked_last_ns: word(value, 24)?,
        read_ns: word(value, 32)?,
        first_ns: time(40),
        last_ns: time(48),
        port: half(value, 56)?,
        pid: pid(value, 60)?,
        uid: half(value, 64)?,
        ahead: half(value, 68)?,
        cut: half(value, 72)? & CUT != 0,
        name: name(value, 80)?.to_vec(),
    })
}

/// What a value of the map `connections` has under way, if anything.
fn standing(value: &[u8]) -> Option<Answer> {
    const ASKED: u64 = 1;
    const CLOSES: u64 = 3;
    let state = word(value, 8).filter(|&state| (ASKED..=CLOSES).contains(&state))?;
    let time = |place| word(value, place).filter(|&ns| ns != 0);
    Some(Answer {
        connection: word(value, 0)?,
        before_ns: time(16),
        asked_ns: word(value, 40)?,
        asked_last_ns: word(value, 48)?,
        read_ns: word(value, 56)?,
        first_ns: time(64),
        last_ns: time(72),
        port: half(value, 80)?,
        pid: pid(value, 84)?,
        uid: half(value, 88)?,
        ahead: half(value, 92)?,
        cut: state == ASKED,
        name: name(value, 96)?.to_vec(),
    })
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Services {
    loaded: Loaded,
}

impl Services {
    /// Loads and attaches them. `listening`: ports whose connections may be older than the recording. With `names` answers have the
    /// names of programs.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn load(kernel: &KernelTypes, listening: &[u16], names: bool) -> Result<Self, Refusal> {
        let names = u32::from(names).to_ne_bytes();
        let constants: [(&str, &[u8]); 1] = [("names", &names)];
        let loaded = load(&PLAN, kernel, &constants, &[])
            .or_else(|refusal| load(&WITHOUT_PIECES, kernel, &constants, &[]).map_err(|_| refusal))?;
        let map = loaded.map("listening")?;
        for &port in listening {
            // One port too many is a connection not seen until it is new.
            let _ = map.set(&u32::from(port).to_ne_bytes(), &1u32.to_ne_bytes());
        }
        Ok(Self { loaded })
    }

    /// Gives the answers that have ended since the last reading, in the order of their ends. Returns how many were lost since: the map was
    /// full, or there were more connections than can be followed.
    ///
    /// # Errors
    /// The maps cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(Answer)) -> io::Result<u64> {
        let mut ended = Vec::new();
        self.loaded.map("answers")?.drain(|key, value| {
            if let (Some(number), Some(answer)) = (word(key, 0), answer(value)) {
                ended.push((number, answer));
            }
        })?;
        ended.sort_unstable_by_key(|&(number, _)| number);
        ended.into_iter().for_each(|(_, answer)| each(answer));
        self.loaded.newly_lost()
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.loaded.run_time_ns()
    }

    /// Gives what is under way, at the end of the recording: an answer without a next request, a request without an answer.
    ///
    /// # Errors
    /// As [`Services::read`].
    pub fn read_standing(&mut self, mut each: impl FnMut(Answer)) -> io::Result<()> {
        let map = self.loaded.map("connections")?;
        map.each(|_, value| {
            if let Some(answer) = standing(value) {
                each(answer);
            }
            Keep::No
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Answer {
        Answer {
            connection: 1,
            before_ns: Some(2),
            asked_ns: 3,
            asked_last_ns: 4,
            read_ns: 5,
            first_ns: Some(6),
            last_ns: None,
            port: 8080,
            pid: 9,
            uid: 10,
            ahead: 11,
            cut: true,
            name: b"httpd".to_vec(),
        }
    }

    #[test]
    fn an_answer_is_read_as_the_program_writes_it() {
        let mut value = Vec::new();
        for number in [1_u64, 2, 3, 4, 5, 6, 0] {
            value.extend(number.to_ne_bytes());
        }
        for number in [8080_u32, 9, 10, 11, CUT, 0] {
            value.extend(number.to_ne_bytes());
        }
        value.extend(b"httpd\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(answer(&value), Some(expected()));
        assert_eq!(answer(&value[..95]), None);
    }

    #[test]
    fn what_is_under_way_is_read_as_the_program_keeps_it() {
        let mut value = Vec::new();
        for number in [1_u64, 1, 2, 0, 0, 3, 4, 5, 6, 0] {
            value.extend(number.to_ne_bytes());
        }
        for number in [8080_u32, 9, 10, 11] {
            value.extend(number.to_ne_bytes());
        }
        value.extend(b"httpd\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(standing(&value), Some(expected()));
        value[8] = 0;
        assert_eq!(standing(&value), None, "nothing was asked");
    }
}
