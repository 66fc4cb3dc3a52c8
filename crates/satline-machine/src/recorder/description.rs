//! `recording.toml` and `sources/machine.toml` of a simulated machine.

use std::io;
use std::path::Path;

use satline_program::Error;
use satline_recording::{HostFacts, RecordingDescription, SimulationText, write_toml_atomically};
use serde::Serialize;

use super::{PAGE_BYTES, WRITER};
use crate::configuration::{Machine, Workload};
use crate::engine::{Span, Time};
use crate::summary::Steps;

/// What a recording says of its run.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The recording to make.
    pub directory: &'a Path,
    pub machine: &'a Machine,
    pub workload: &'a Workload,
    /// The files as they were read, so that the run can be made again.
    pub machine_text: &'a str,
    pub workload_text: &'a str,
    /// What was changed in them for this run.
    pub sets: &'a [(String, String)],
    /// At most `i64::MAX`, as the replication: TOML has no larger numbers.
    pub seed: u64,
    pub replication: u64,
    /// Real time at simulated time 0, ns since 1970.
    pub start_ns: i64,
    pub sample_every: Span,
    pub steps: &'a Steps,
    /// Write tables transaction and transition.
    pub transactions: bool,
}

impl Setting<'_> {
    pub fn time_ns(&self, at: Time) -> i64 {
        self.start_ns
            .saturating_add(i64::try_from(at.ns()).unwrap_or(i64::MAX))
    }

    /// The same run has the same id: 128 bits by FNV-1a of what makes it.
    fn id(&self) -> String {
        let steps = self
            .steps
            .all()
            .iter()
            .map(|step| format!("{step:?}"))
            .collect::<String>();
        let parts = [
            self.machine_text,
            self.workload_text,
            &format!("{:?}", self.sets),
            &format!("{} {} {}", self.seed, self.replication, self.start_ns),
            &format!("{:?} {} {steps}", self.sample_every, self.transactions),
            env!("CARGO_PKG_VERSION"),
        ];
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        format!("{hash:032x}")
    }
}

#[derive(Serialize)]
struct Source<'a> {
    writer: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<&'a str>,
    run: i64,
    sampling: Sampling,
    users: Users<'a>,
    methods: Methods<'a>,
}

#[derive(Serialize)]
struct Sampling {
    interval_ms: f64,
    samples: i64,
    samples_lost: i64,
}

#[derive(Serialize)]
struct Users<'a> {
    definition: &'a str,
}

#[derive(Serialize)]
struct Methods<'a> {
    waits: &'a str,
}

/// Writes recording.toml. Its times are simulated ones: the same run has the same description.
pub fn begin(setting: &Setting<'_>) -> Result<(), Error> {
    let path = setting.directory.join("recording.toml");
    let failed = |error| Error::file(&path, "make it", &error);
    if path.exists() {
        return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    std::fs::create_dir_all(setting.directory).map_err(failed)?;
    let (machine, workload) = (setting.machine, setting.workload);
    let host = HostFacts {
        name: Some(machine.name.clone()),
        processors: Some(machine.processors.count.into()),
        memory_bytes: Some(i64::try_from(machine.storage.bytes).unwrap_or(i64::MAX)),
        page_bytes: Some(PAGE_BYTES),
        ..HostFacts::default()
    };
    let mut description = RecordingDescription::of(
        "simulated",
        setting.id(),
        "satline-machine",
        setting.start_ns,
        host,
    );
    if let Some(system) = &mut description.system_under_test {
        system.vocabulary = Some("vm".into());
    }
    let sets = setting.sets.iter();
    description.simulation = Some(SimulationText {
        program: format!("satline-machine {}", env!("CARGO_PKG_VERSION")),
        workload_name: workload.name.clone(),
        seed: setting.seed as i64,
        replication: setting.replication as i64,
        sets: sets.map(|(key, value)| format!("{key}={value}")).collect(),
        unverified: machine.unverified.clone(),
        machine: setting.machine_text.into(),
        workload: setting.workload_text.into(),
    });
    write_toml_atomically(&path, &description)
}

/// Replaces sources/machine.toml; `end_reason` is absent while the run goes on.
pub fn write_source(
    setting: &Setting<'_>,
    run: i64,
    samples: i64,
    end_reason: Option<&str>,
) -> Result<(), Error> {
    let source = Source {
        writer: WRITER,
        version: env!("CARGO_PKG_VERSION"),
        end_reason,
        run,
        sampling: Sampling {
            interval_ms: setting.sample_every.ns() as f64 / 1e6,
            samples,
            samples_lost: 0,
        },
        users: Users {
            definition: "simulated",
        },
        methods: Methods {
            waits: "exact accounts",
        },
    };
    write_toml_atomically(&setting.directory.join("sources").join("machine.toml"), &source)
}
