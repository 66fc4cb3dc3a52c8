//! Lines that users entered at terminals, as transactions of the users that the recording has.

use crate::abilities::TERMINALS;
use crate::clockwork::Clock;
use crate::lines::Transaction;
use crate::missing::Missing;
use crate::recorder::Stamp;
use crate::users::{Facts, SATLINE, UserId};

use super::Monitor;

/// Sessions whose users are remembered.
const MOST_LEADERS: usize = 16_384;

impl<C: Clock> Monitor<C> {
    /// Records the lines that have ended since the last time; at the end of the recording those under way too.
    pub(super) fn take_lines(&mut self, at: Stamp, all: bool) {
        let Some(mut lines) = self.lines.take() else {
            return;
        };
        match lines.read(at.monotonic_ns, all) {
            Ok((rows, lost)) => {
                self.lines = Some(lines);
                rows.iter().for_each(|row| self.take_line(at, row));
                if self.leaders.len() > MOST_LEADERS {
                    self.leaders.clear();
                }
                if lost > 0 {
                    self.recorder.event(at, "lines-lost", Some(lost as f64), None);
                }
            }
            Err(error) => {
                let reason = error.to_string();
                self.recorder.event(at, "terminals-failed", None, Some(&reason));
                self.missing.push(Missing::new(TERMINALS, reason, "report this"));
            }
        }
    }

    fn take_line(&mut self, at: Stamp, row: &Transaction) {
        let user = self.user_of_line(row);
        // The shell of a thermometer.
        if user == SATLINE {
            return;
        }
        let line_ns = i64::try_from(row.line_ns).unwrap_or(i64::MAX);
        let line = Stamp {
            time_ns: at.time_ns.saturating_sub(at.monotonic_ns.saturating_sub(line_ns)),
            monotonic_ns: line_ns,
        };
        self.recorder.transaction(line, &self.users.names()[user], row);
    }

    /// The user of whoever answered, else of who leads the session; where neither is there any more, whose session it was or what the
    /// kernel told.
    fn user_of_line(&mut self, row: &Transaction) -> UserId {
        let known = [row.reader, row.leader]
            .into_iter()
            .find_map(|pid| self.table.user_of(pid));
        if let Some(user) = known {
            self.leaders.insert(row.leader, user);
            return user;
        }
        let before = self.leaders.get(&row.leader).copied();
        let before = before.or_else(|| self.users.at_terminal(row.uid?, &row.terminal));
        before.unwrap_or_else(|| {
            self.users.of(Facts {
                pid: row.reader,
                session: row.leader,
                kernel_thread: false,
                uid: row.uid,
                parent: None,
            })
        })
    }
}
