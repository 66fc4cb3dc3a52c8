//! Leave to drive a host over SSH: a file on the host, read over SSH itself.
//!
//! `/etc/satline/allow-load` is the word of the host's owner; only where there is none that of the account's,
//! `~/.config/satline/allow-load`. The session that reads it stays open and ends when the file is changed or removed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use satline_program::Error;
use satline_program::clock::{SECOND_NS, real_ns};
use serde::Deserialize;

use super::{Ask, Consent, listed};
use crate::environment::quote;
use crate::lines::ssh::{Host, explain};

/// Longest file, bytes.
const LIMIT: usize = 4096;
const BEGIN: &str = "satline-allow-load ";
const END: &str = "\nsatline-end\n";
/// A line now and then, so that the loop ends with the connection.
const SCRIPT: &str = "f=/etc/satline/allow-load; [ -e \"$f\" ] || f=\"$HOME/.config/satline/allow-load\"; \
    t=$(cat \"$f\") || exit 3; printf '%s\\n%s\\nsatline-end\\n' \"satline-allow-load $f\" \"$t\"; \
    while [ \"$(cat \"$f\" 2>/dev/null)\" = \"$t\" ]; do sleep 2; echo; done";

/// What the owner allows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    max_users: usize,
    /// Lines a second.
    max_rate: f64,
    /// Longest run.
    max_seconds: f64,
    /// The last day, UTC.
    until: toml::value::Datetime,
}

impl Bounds {
    fn judge(&self, ask: &Ask, now_s: i64) -> Result<(), String> {
        let Some(end_s) = self
            .until
            .date
            .and_then(|date| end_of(date.year, date.month, date.day))
        else {
            return Err("until is no day".into());
        };
        if ask.users > self.max_users {
            return Err(format!("{} users, at most {}", ask.users, self.max_users));
        }
        if ask.rate > self.max_rate {
            return Err(format!(
                "{} lines a second (--max-rate), at most {}",
                ask.rate, self.max_rate
            ));
        }
        if ask.seconds > self.max_seconds {
            return Err(format!(
                "{:.0} seconds, at most {}",
                ask.seconds, self.max_seconds
            ));
        }
        if now_s as f64 + ask.seconds > end_s as f64 {
            return Err(format!("the run would end after {}", self.until));
        }
        Ok(())
    }
}

/// The end of a day, s since 1970 UTC.
fn end_of(year: u16, month: u8, day: u8) -> Option<i64> {
    let day = chrono::NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
    let next = day.succ_opt()?.and_time(chrono::NaiveTime::MIN);
    Some(next.and_utc().timestamp())
}

/// Reads the owner's leave on the host; `list` must name it too.
///
/// Errors have exit code 2: no list, not in it, no file on the host, or it does not cover what is asked.
pub fn consent(list: Option<&Path>, name: &str, host: &Host, ask: &Ask) -> Result<Consent, Error> {
    let hint = "ask the owner of the host for /etc/satline/allow-load, or that of the account for ~/.config/satline/allow-load";
    let list = listed(list, name, hint)?;
    super::list::find(list, name, ask.port)?;
    let refused = |what: String| Error::input(format!("{name}: {what}"), hint);
    let (mut near, far) = UnixStream::pair().map_err(|error| refused(error.to_string()))?;
    let mut command = host.run(&format!("exec sh -c {}", quote(SCRIPT)));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command.stdout(Stdio::from(OwnedFd::from(far)));
    let mut client = command.spawn().map_err(|error| refused(error.to_string()))?;
    // Its copy of the other end would keep the connection open.
    drop(command);
    let answer = answer_of(&mut near);
    let give_up = |client: &mut std::process::Child, what: String| {
        let _ = client.kill();
        let _ = client.wait();
        Err(refused(what))
    };
    let Some((file, text)) = answer.as_deref().and_then(parts) else {
        let mut said = String::new();
        let _ = client.kill();
        let _ = client
            .stderr
            .take()
            .map(|errors| errors.take(4096).read_to_string(&mut said));
        return give_up(&mut client, format!("gives no leave{}", explain(&said, false)));
    };
    let judged = toml::from_str::<Bounds>(text)
        .map_err(|error| error.to_string().trim_end().to_owned())
        .and_then(|bounds| bounds.judge(ask, real_ns() / SECOND_NS));
    if let Err(why) = judged {
        return give_up(&mut client, format!("its {file} says no: {why}"));
    }
    let set = near.set_nonblocking(true);
    set.map_err(|error| refused(error.to_string()))?;
    Ok(Consent {
        connection: File::from(OwnedFd::from(near)),
        client: Some(client.id() as i32),
    })
}

/// What comes up to the end mark, within the time that there is.
fn answer_of(near: &mut UnixStream) -> Option<String> {
    let until = Instant::now() + Duration::from_secs(20);
    let mut text = Vec::new();
    let mut buffer = [0u8; 1024];
    while text.len() < LIMIT {
        let left = until.checked_duration_since(Instant::now())?;
        near.set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .ok()?;
        match near.read(&mut buffer) {
            Ok(got) if got > 0 => text.extend_from_slice(&buffer[..got]),
            // It was suspended: a read that has a time is not begun again by itself.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return None,
        }
        if String::from_utf8_lossy(&text).contains(END) {
            return String::from_utf8(text).ok();
        }
    }
    None
}

/// The file's name and what is in it; what the account prints before is left out.
fn parts(answer: &str) -> Option<(&str, &str)> {
    let (_, answer) = answer.split_once(BEGIN)?;
    let (answer, _) = answer.split_once(END)?;
    answer.split_once('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::thread::JoinHandleExt;

    #[test]
    fn the_file_bounds_users_rate_length_and_days() {
        let text = "motd\nsatline-allow-load /etc/satline/allow-load\nmax_users = 10\nmax_rate = 50\nmax_seconds = 60\nuntil = 2026-11-22\nsatline-end\n\n";
        let (file, text) = parts(text).unwrap();
        assert_eq!(file, "/etc/satline/allow-load");
        let bounds: Bounds = toml::from_str(text).unwrap();
        let ask = Ask {
            port: 22,
            users: 10,
            rate: 50.0,
            seconds: 60.0,
        };
        // 2026-11-22 ends at this second.
        let end = 1_795_392_000;
        assert_eq!(bounds.judge(&ask, end - 60), Ok(()));
        assert!(bounds.judge(&ask, end - 59).unwrap_err().contains("2026-11-22"));
        for (wrong, word) in [
            (Ask { users: 11, ..ask }, "users"),
            (Ask { rate: 51.0, ..ask }, "lines a second"),
            (Ask { seconds: 61.0, ..ask }, "seconds"),
        ] {
            assert!(bounds.judge(&wrong, 0).unwrap_err().contains(word));
        }
        assert!(parts("no such file").is_none() && parts("\nsatline-end\nsatline-allow-load x").is_none());
    }

    extern "C" fn nothing(_: libc::c_int) {}

    #[test]
    fn an_interruption_is_no_refusal() {
        // SAFETY: the handler does nothing; no other test sends or awaits this signal.
        unsafe {
            libc::signal(
                libc::SIGUSR2,
                nothing as extern "C" fn(libc::c_int) as libc::sighandler_t,
            )
        };
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let reads = std::thread::spawn(move || answer_of(&mut near));
        for _ in 0..100 {
            // SAFETY: the thread is joined below.
            unsafe { libc::pthread_kill(reads.as_pthread_t(), libc::SIGUSR2) };
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = far.write_all(END.as_bytes());
        assert_eq!(reads.join().unwrap().as_deref(), Some(END));
    }

    #[test]
    fn days_end_where_the_calendar_says() {
        assert_eq!(end_of(1970, 1, 1), Some(86_400));
        assert_eq!(end_of(2000, 2, 29), Some(951_868_800));
        assert_eq!(end_of(2026, 13, 1), None);
    }
}
