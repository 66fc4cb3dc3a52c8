//! Requests to services, as transactions of the users that the recording has.

use crate::abilities::SERVICES;
use crate::clockwork::Clock;
use crate::missing::Missing;
use crate::recorder::Stamp;
use crate::requests::Request;
use crate::users::{Facts, SATLINE};

use super::Monitor;

impl<C: Clock> Monitor<C> {
    /// Records the requests whose answers have ended since the last time; at the end of the recording those under way too.
    pub(super) fn take_requests(&mut self, at: Stamp, all: bool) {
        let Some(mut requests) = self.requests.take() else {
            return;
        };
        match requests.read(all) {
            Ok((rows, lost)) => {
                self.requests = Some(requests);
                rows.iter().for_each(|row| self.take_request(at, row));
                if lost > 0 {
                    self.recorder.event(at, "requests-lost", Some(lost as f64), None);
                }
            }
            Err(error) => {
                let reason = error.to_string();
                self.recorder.event(at, "services-failed", None, Some(&reason));
                self.missing.push(Missing::new(SERVICES, reason, "report this"));
            }
        }
    }

    fn take_request(&mut self, at: Stamp, row: &Request) {
        let user = self.table.user_of(row.pid).unwrap_or_else(|| {
            self.users.of(Facts {
                pid: row.pid,
                session: 0,
                kernel_thread: false,
                uid: Some(row.uid),
                parent: None,
            })
        });
        if user == SATLINE {
            return;
        }
        let asked_ns = i64::try_from(row.asked_ns).unwrap_or(i64::MAX);
        let asked = Stamp {
            time_ns: at
                .time_ns
                .saturating_sub(at.monotonic_ns.saturating_sub(asked_ns)),
            monotonic_ns: asked_ns,
        };
        let group = self.table.group_of(row.pid);
        self.recorder
            .request(asked, &self.users.names()[user], group.as_deref(), row);
    }
}
