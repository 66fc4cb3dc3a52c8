//! Requests to services of this host → rows of table `transaction`.

use std::path::{Path, PathBuf};

use satline_program::parse;
use satline_recording::row;

use crate::ebpf::services::{Answer, Services};
use crate::files;

row! {
    /// One row of table `transaction`. Times are those of CLOCK_MONOTONIC.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Request {
        pub class: String,
        pub outcome: &'static str,
        pub think_us: Option<i64>,
        /// From its first byte to its last.
        pub arriving_us: Option<i64> as "typing_us",
        /// Until the process had read it.
        pub unread_us: Option<i64>,
        pub reaction_us: Option<i64>,
        pub response_us: Option<i64>,
        pub ahead: i64 as "typed_ahead",
        ;
        /// When its last byte came.
        pub asked_ns: u64,
        pub connection: u64,
        /// The process that answered, and its effective user.
        pub pid: i32,
        pub uid: u32,
    }
}

fn microseconds(from: Option<u64>, to: Option<u64>) -> Option<i64> {
    i64::try_from(to?.checked_sub(from?)? / 1000).ok()
}

/// The row of an answer.
pub fn request(answer: &Answer) -> Request {
    let asked = Some(answer.asked_last_ns);
    let mut class = format!("tcp/{}", answer.port);
    if !answer.name.is_empty() {
        class.push(' ');
        class.push_str(&String::from_utf8_lossy(&answer.name));
    }
    Request {
        asked_ns: answer.asked_last_ns,
        connection: answer.connection,
        pid: answer.pid,
        uid: answer.uid,
        class,
        outcome: if answer.cut { "cut" } else { "ok" },
        think_us: microseconds(answer.before_ns, Some(answer.asked_ns)),
        arriving_us: microseconds(Some(answer.asked_ns), asked),
        unread_us: microseconds(asked, Some(answer.read_ns)),
        reaction_us: microseconds(asked, answer.first_ns),
        response_us: microseconds(asked, answer.last_ns.filter(|_| !answer.cut)),
        ahead: i64::from(answer.ahead),
    }
}

/// Readings of requests.
#[derive(Debug)]
pub struct Requests {
    services: Services,
}

impl Requests {
    pub fn new(services: Services) -> Self {
        Self { services }
    }

    /// What its programs have taken while the kernel kept account, ns.
    pub fn run_time_ns(&self) -> u64 {
        self.services.run_time_ns()
    }

    /// The requests whose answers have ended since the last reading, and how many were lost. With `all`, at the end of the recording,
    /// also those under way.
    ///
    /// # Errors
    /// The programs cannot be read.
    pub fn read(&mut self, all: bool) -> std::io::Result<(Vec<Request>, u64)> {
        let mut rows = Vec::new();
        let lost = self.services.read(|answer| rows.push(request(&answer)))?;
        if all {
            self.services
                .read_standing(|answer| rows.push(request(&answer)))?;
        }
        Ok((rows, lost))
    }
}

/// TCP ports of this host that listen now.
pub fn listening(proc: &Path) -> Vec<u16> {
    let tables = ["tcp", "tcp6"].map(|name| {
        let path: PathBuf = proc.join("self/net").join(name);
        files::read(&path).unwrap_or_default()
    });
    let mut ports: Vec<u16> = tables.iter().flat_map(|table| ports(table)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Of `/proc/PID/net/tcp` and its like, the ports of sockets that listen.
fn ports(table: &[u8]) -> Vec<u16> {
    const LISTENS: &[u8] = b"0A";
    let port = |line: &[u8]| {
        let fields: Vec<&[u8]> = parse::fields(line).collect();
        let own = fields.get(1)?.rsplit(|&byte| byte == b':').next()?;
        if *fields.get(3)? != LISTENS {
            return None;
        }
        u16::from_str_radix(std::str::from_utf8(own).ok()?, 16).ok()
    };
    parse::lines(table).skip(1).filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            connection: 4,
            before_ns: Some(1_000_000),
            asked_ns: 3_000_000,
            asked_last_ns: 3_200_000,
            read_ns: 3_300_000,
            first_ns: Some(5_200_000),
            last_ns: Some(9_200_000),
            port: 80,
            pid: 7,
            uid: 33,
            ..Answer::default()
        }
    }

    #[test]
    fn a_request_has_its_times_from_when_it_had_come() {
        let row = request(&answer());
        let times = [row.think_us, row.arriving_us, row.unread_us, row.reaction_us];
        assert_eq!(times, [Some(2000), Some(200), Some(100), Some(2000)]);
        assert_eq!((row.response_us, row.outcome), (Some(6000), "ok"));
        assert_eq!((row.class.as_str(), row.asked_ns), ("tcp/80", 3_200_000));
    }

    #[test]
    fn one_that_was_not_answered_is_cut() {
        let row = request(&Answer {
            first_ns: None,
            last_ns: None,
            cut: true,
            name: b"nginx".to_vec(),
            ..answer()
        });
        assert_eq!(
            (row.reaction_us, row.response_us, row.outcome),
            (None, None, "cut")
        );
        assert_eq!(row.class, "tcp/80 nginx");
    }

    #[test]
    fn one_that_came_before_the_answer_to_the_last_was_not_thought_about() {
        let row = request(&Answer {
            before_ns: Some(3_100_000),
            ..answer()
        });
        assert_eq!(row.think_us, None);
    }

    #[test]
    fn ports_that_listen_are_found() {
        let table = b"  sl  local_address rem_address   st tx_queue\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
            1: 0100007F:1F90 0100007F:C350 01 00000000:00000000\n\
            2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0\n\
            3: damaged\n";
        assert_eq!(ports(table), [8080, 80]);
    }
}
