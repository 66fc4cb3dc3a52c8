//! The swapper's writer of a recording.

use std::collections::HashMap;
use std::path::Path;

use satline_program::{Error, clock};
use satline_recording::{
    EventRow, HostFacts, RecordingDescription, RecordingWriter, Table, WriterOptions, create_if_absent,
    end_recording, write_toml_at_end, write_toml_atomically,
};

use crate::abilities::Abilities;
use crate::calls;
use crate::decision::{Decisions, Event, State, StorageSeen, UserId, UserSeen, UserState};
use crate::user::User;

const SWAPPER: [&str; 16] = [
    "cpu_us",
    "total_bytes",
    "free_bytes",
    "low_bytes",
    "high_bytes",
    "short",
    "pressed",
    "swap_free_bytes",
    "swap_reserve_bytes",
    "users_active",
    "users_idle",
    "users_trimmed",
    "users_partly",
    "users_swapped",
    "users_eligible",
    "users_resuming",
];
const USER: [&str; 20] = [
    "user",
    "state",
    "interactive",
    "active",
    "faulted",
    "announced",
    "resident_bytes",
    "outside_pages",
    "working_set_pages",
    "working_set_runs",
    "stays",
    "resumes",
    "resume_us",
    "swapped_out_pages",
    "prepaged_pages",
    "prepaged_at_once_pages",
    "prepage_errors",
    "swap_sets_out",
    "swap_sets_in",
    "cpu_us",
];

/// Its name in the recording.
const WRITER: &str = "swapper";

/// Writes.
pub struct Recorder {
    writer: RecordingWriter,
    swapper: Table,
    user: Table,
    event: Table,
    /// What was seen of users since the last sample: active, faulted, announced.
    seen: HashMap<UserId, [bool; 3]>,
    policy: String,
    /// Its policy holds users back, and is carried out.
    holds: bool,
    created: bool,
}

impl Recorder {
    /// Opens the writer `swapper`; makes the recording where there is none. `holds`: users can be held back.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(directory: &Path, policy: &str, holds: bool, abilities: &Abilities) -> Result<Self, Error> {
        let host = HostFacts::read(Path::new("/proc"), Path::new("/etc/os-release"));
        let description = RecordingDescription::plain("satline-swapper", clock::real_ns(), host)?;
        let created = create_if_absent(directory, &description)?;
        let mut writer = RecordingWriter::open(directory, WRITER, WriterOptions::default())?;
        let recorder = Recorder {
            swapper: Table::open(&mut writer, "swapper", SWAPPER)?,
            user: Table::open(&mut writer, "swapper_user", USER)?,
            event: Table::of::<EventRow<'_>>(&mut writer, "event")?,
            writer,
            seen: HashMap::new(),
            policy: policy.to_owned(),
            holds,
            created,
        };
        write_toml_atomically(&recorder.source(), &recorder.description(abilities, None))?;
        Ok(recorder)
    }

    fn source(&self) -> std::path::PathBuf {
        self.writer.directory().join("sources/swapper.toml")
    }

    fn description(&self, abilities: &Abilities, end_reason: Option<&str>) -> toml::Table {
        let mut methods = toml::Table::new();
        methods.insert("pages".into(), abilities.method.word().into());
        let resume = if abilities.wakes { "perf-event" } else { "ticks" };
        methods.insert("resume".into(), resume.into());
        let missing = abilities.lacking.iter().map(|lacking| {
            let mut one = toml::Table::new();
            one.insert("signal".into(), lacking.what.clone().into());
            one.insert("reason".into(), lacking.instead.clone().into());
            one.insert("would_need".into(), lacking.would_need.clone().into());
            toml::Value::Table(one)
        });
        let mut cost = toml::Table::new();
        cost.insert("cpu_us".into(), clock::own_cpu_us().into());
        let mut all = toml::Table::new();
        all.insert("writer".into(), WRITER.into());
        all.insert("version".into(), env!("CARGO_PKG_VERSION").into());
        if let Some(reason) = end_reason {
            all.insert("end_reason".into(), reason.into());
        }
        all.insert("policy".into(), self.policy.clone().into());
        all.insert("methods".into(), methods.into());
        all.insert("cost".into(), cost.into());
        all.insert("missing".into(), toml::Value::Array(missing.collect()));
        all
    }

    /// What was seen, until the next sample.
    pub fn seen(
        &mut self,
        _now_ns: i64,
        seen: &[UserSeen],
        _events: &[Event],
        _storage: Option<StorageSeen>,
    ) {
        for user in seen {
            if user.active || user.faulted || user.announced {
                let flags = self.seen.entry(user.id).or_default();
                flags[0] |= user.active;
                flags[1] |= user.faulted;
                flags[2] |= user.announced;
            }
        }
    }

    /// One row of the swapper, one for each user.
    ///
    /// # Errors
    /// The disk.
    pub fn sample(
        &mut self,
        now_ns: i64,
        decisions: &Decisions,
        users: &[(&User, &UserState)],
        storage: Option<StorageSeen>,
    ) -> Result<(), Error> {
        let time_ns = clock::real_ns();
        let count = |state| users.iter().filter(|(_, user)| user.state == state).count() as i64;
        let of = |value: fn(&StorageSeen) -> u64| storage.as_ref().map(|storage| value(storage) as i64);
        let row = [
            Some(clock::own_cpu_us()),
            of(|storage| storage.total_bytes),
            of(|storage| storage.free_bytes),
            of(|storage| storage.low_bytes),
            of(|storage| storage.high_bytes),
            Some(i64::from(decisions.short)),
            storage.map(|storage| i64::from(storage.pressed)),
            of(|storage| storage.swap_free_bytes),
            of(|storage| storage.swap_reserve_bytes),
            Some(count(State::Active)),
            Some(count(State::Idle)),
            Some(count(State::Trimmed)),
            Some(count(State::Partly)),
            Some(count(State::Swapped)),
            // That nobody is held where nobody can be says nothing of storage: not recorded.
            self.holds.then(|| count(State::Eligible)),
            Some(count(State::Resuming)),
        ];
        let writer = &mut self.writer;
        let at_ns = (time_ns, now_ns);
        let fill = |writer: &mut RecordingWriter, columns: &[_]| writer.set_all(columns, &row);
        self.swapper.row(writer, at_ns, fill);
        let page_bytes = calls::page_bytes() as i64;
        for (user, state) in users {
            let [active, faulted, announced] = self.seen.get(&user.id).copied().unwrap_or_default();
            let totals = &user.totals;
            let row = [
                Some(i64::from(state.interactive)),
                Some(i64::from(active)),
                Some(i64::from(faulted)),
                Some(i64::from(announced)),
                Some(state.resident_bytes as i64),
                Some(user.outside_pages() as i64),
                state.working_set_bytes.map(|bytes| bytes as i64 / page_bytes),
                state.working_set_bytes.map(|_| user.working_set_runs as i64),
                Some(totals.stays),
                Some(totals.resumes),
                Some(totals.resume_us),
                Some(totals.swapped_out_pages),
                Some(totals.prepaged_pages),
                Some(totals.prepaged_at_once_pages),
                Some(totals.prepage_errors),
                Some(totals.swap_sets_out),
                Some(totals.swap_sets_in),
                Some(user.meter.cpu_us as i64),
            ];
            self.user.row(writer, at_ns, |writer, columns| {
                writer.set_text(columns[0], &user.found.name);
                writer.set_text(columns[1], state.state.word());
                writer.set_all(&columns[2..], &row);
            });
        }
        self.seen.clear();
        writer.flush_due(now_ns)
    }

    /// Something that happened now.
    pub fn event(&mut self, event: &str, value: Option<f64>, text: &str) {
        let row = EventRow {
            source: WRITER,
            event,
            value,
            text: Some(text),
        };
        let now_ns = (clock::real_ns(), clock::monotonic_ns());
        self.event.write(&mut self.writer, now_ns, &row);
    }

    /// Ends it.
    ///
    /// # Errors
    /// The disk.
    pub fn end(&mut self, abilities: &Abilities) -> Result<(), Error> {
        self.writer.finish()?;
        write_toml_at_end(&self.source(), &self.description(abilities, Some("complete")))?;
        // A recording that another began is another's to end.
        if self.created {
            end_recording(self.writer.directory(), clock::real_ns(), "complete")?;
        }
        Ok(())
    }
}
