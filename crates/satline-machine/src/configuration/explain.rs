//! A machine and a workload as a person reads them: every figure with its unit and what stands behind it.

use std::fmt::Write;

use super::read::{MachineFile, Standing, Stated, WorkloadFile};
use super::swapping::{PURPOSES, Purpose, word};
use super::{DeviceUnit, Machine, Population, Role, UserClass, Workload};
use crate::devices::DeviceModel;

const WIDTH: usize = 80;
/// Before every figure that no source stands behind.
const DOUBT: char = '?';

/// What a policy does, by its table and its name: the first line of its file.
pub type What<'a> = &'a dyn Fn(&str, &str) -> Option<String>;

/// The machine at 80 columns.
pub fn machine(file: &MachineFile, what: What<'_>) -> String {
    let machine = &file.machine;
    let mut out = String::new();
    heading(&mut out, &machine.name, '=');
    paragraphs(&mut out, &machine.note);
    figures(&mut out, &file.figures, Some(&machine.processors.speed));
    let missing = machine.not_modelled();
    if !missing.is_empty() {
        heading(&mut out, "not modelled", '-');
        wrapped(&mut out, "  ", &left_out(machine.processors.count, &missing));
    }
    heading(&mut out, "policies", '-');
    let policies = &machine.policies;
    for (table, name) in [
        ("replacement", &policies.replacement),
        ("page_out_device", &policies.page_out_device),
        ("slot", &policies.slot),
        ("queue_drop", &policies.queue_drop),
        ("admission", &policies.admission),
        ("dispatch", &policies.dispatch),
        ("involuntary_drop", &policies.involuntary_drop),
    ] {
        let what = what(table, name).unwrap_or_default();
        entry(&mut out, ' ', table, name, &what);
    }
    devices(&mut out, machine);
    let doubts = machine.unverified.len();
    let _ = writeln!(
        out,
        "\n{DOUBT} marks the {doubts} figures without a known source; results rest on them too."
    );
    out
}

/// What a machine of several processors leaves out, as a sentence.
pub fn left_out(processors: u32, missing: &[&str]) -> String {
    let missing = missing.join("; ");
    format!("{processors} processors, not modelled as a multiprocessor: {missing}.")
}

/// The workload at 80 columns; with a machine, what its users ask of it.
pub fn workload(file: &WorkloadFile, on: Option<&Machine>) -> String {
    let workload = &file.workload;
    let mut out = String::new();
    heading(&mut out, &workload.name, '=');
    paragraphs(&mut out, &workload.note);
    heading(&mut out, "population", '-');
    let users = match &workload.population {
        Population::Constant(users) => format!("{users} users all the time"),
        Population::Varying(changes) => {
            let most = changes.iter().map(|change| change.users).max().unwrap_or(0);
            let hours = changes
                .last()
                .map_or(0.0, |change| change.from.seconds() / 3600.0);
            format!(
                "{} changes over {hours:.1} hours, at most {most} users",
                changes.len()
            )
        }
    };
    wrapped(&mut out, "  ", &users);
    figures(&mut out, &file.figures, None);
    demands(&mut out, workload, on);
    out
}

/// Figures under a heading for each table that they are in.
fn figures(out: &mut String, figures: &[Stated], speed: Option<&f64>) {
    let mut under = String::new();
    // Devices and areas have tables of their own below.
    let below =
        |figure: &&Stated| figure.key.starts_with("device.") || figure.key.starts_with("paging_area.");
    for figure in figures
        .iter()
        .filter(|figure| !below(figure) || figure.standing == Standing::Set)
    {
        let (table, key) = figure
            .key
            .rsplit_once('.')
            .unwrap_or(("the file itself", &figure.key));
        if table != under {
            heading(out, table, '-');
            under = table.to_string();
            if let (Some(speed), "processors") = (speed, table) {
                entry(out, ' ', "one processor", &format!("{speed} × 370/158-3"), "");
            }
        }
        let (mark, behind) = match &figure.standing {
            Standing::Source(text) => (' ', text.clone()),
            Standing::Unverified(text) => (DOUBT, text.clone()),
            Standing::Calibrated(text) => (' ', format!("calibrated: {text}")),
            Standing::Chosen => (' ', String::new()),
            Standing::Set => (' ', "set for this run".into()),
        };
        entry(out, mark, key, &figure.value, &behind);
    }
}

/// Devices by type: geometry, and one page's service time when nothing is in the way.
fn devices(out: &mut String, machine: &Machine) {
    let mut shown: Vec<&str> = Vec::new();
    for unit in &machine.devices {
        let name = unit.model.figures().name.as_str();
        if shown.contains(&name) {
            continue;
        }
        shown.push(name);
        let of_type = |other: &&DeviceUnit| other.model.figures().name == name;
        heading(out, &format!("device {name}"), '-');
        for unit in machine.devices.iter().filter(of_type) {
            entry(
                out,
                ' ',
                &unit.name,
                role(unit.role),
                &(paths(unit) + &driven(&unit.model)),
            );
        }
        let (cylinders, slots) = (unit.model.cylinders(), unit.model.slots_per_cylinder());
        let pages = u64::from(cylinders) * u64::from(slots);
        let geometry = format!("{cylinders} cylinders × {slots}");
        entry(out, ' ', "page slots", &pages.to_string(), &geometry);
        let (total_ms, parts) = service_ms(&unit.model);
        entry(
            out,
            ' ',
            "service of one page",
            &format!("{total_ms:.2} ms"),
            &parts,
        );
        for (key, figure) in &unit.model.figures().figures {
            let mark = if figure.source == "unverified" { DOUBT } else { ' ' };
            entry(out, mark, key, &figure.value.to_string(), &figure.source);
        }
    }
    heading(out, "paging areas", '-');
    for area in &machine.paging.areas {
        let unit = &machine.devices[area.device];
        let last = area.first_cylinder + area.cylinders - 1;
        let slots = u64::from(area.cylinders) * u64::from(unit.model.slots_per_cylinder());
        let tier = match area.purpose {
            Purpose::Paging => format!("tier {}", area.tier),
            purpose => format!("{}, tier {}", word(PURPOSES, &purpose), area.tier),
        };
        let place = format!("{tier}, cylinders {} to {last}", area.first_cylinder);
        entry(out, ' ', &unit.name, &format!("{slots} pages"), &place);
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Paging => "paging",
        Role::Files => "files",
        Role::Both => "paging and files",
    }
}

fn paths(unit: &DeviceUnit) -> String {
    let paths = unit.paths.iter();
    let paths: Vec<String> = paths
        .map(|(unit, channel)| format!("control unit {unit}, channel {channel}"))
        .collect();
    paths.join("; or ")
}

/// How the control program drives a device that could be driven otherwise.
fn driven(model: &DeviceModel) -> String {
    let mut words = String::new();
    if model.figures().has("exposures") {
        let _ = write!(words, "; exposures used: {}", model.exposures());
    }
    if model.across_cylinders() {
        words += "; chains across cylinders";
    }
    words
}

/// Mean service of one page from a random place: seek + half a revolution + the path held; ms.
fn service_ms(model: &DeviceModel) -> (f64, String) {
    let seek = model
        .figures()
        .figures
        .get("seek_mean_ms")
        .map_or(0.0, |figure| figure.value);
    let latency = model.track().revolution().seconds() * 1e3 / 2.0;
    let held = model.track().held(1).seconds() * 1e3;
    (
        seek + latency + held,
        format!("seek {seek:.2} + latency {latency:.2} + path {held:.2}"),
    )
}

/// What the users ask for, if nobody ever waited.
fn demands(out: &mut String, workload: &Workload, on: Option<&Machine>) {
    let speed = on.map_or(1.0, |machine| machine.processors.speed);
    let where_ = on.map_or("the 370/158-3", |machine| &machine.name);
    heading(out, &format!("a user's mean transaction on {where_}"), '-');
    for class in &workload.classes {
        let (cpu_s, ios) = mean_transaction(class);
        let value = format!("{:.1} ms", cpu_s / speed * 1e3);
        let think = class.think.mean_s();
        let more = format!("problem state; {ios:.1} I/Os; then {think:.3} s of thought");
        entry(out, ' ', &class.name, &value, &more);
    }
}

/// Means by weight: problem state on the reference processor (s), and user I/Os.
pub fn mean_transaction(class: &UserClass) -> (f64, f64) {
    let weights: f64 = class.transactions.iter().map(|kind| kind.weight).sum();
    let mut sums = (0.0, 0.0);
    for kind in &class.transactions {
        let cpu_s = kind.cpu.mean_s();
        let ios = kind
            .cpu_between_ios
            .map_or(0.0, |between| cpu_s / between.seconds());
        sums.0 += kind.weight / weights * cpu_s;
        sums.1 += kind.weight / weights * ios;
    }
    sums
}

fn heading(out: &mut String, text: &str, line: char) {
    let rule: String = std::iter::repeat_n(line, text.chars().count().min(WIDTH)).collect();
    let before = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{before}{text}\n{rule}");
}

/// A note's paragraphs, an empty line between them; one whose first line is indented keeps its lines.
fn paragraphs(out: &mut String, text: &str) {
    for (number, paragraph) in text.trim().split("\n\n").enumerate() {
        if number > 0 {
            out.push('\n');
        }
        match paragraph.starts_with("    ") {
            true => paragraph.lines().for_each(|line| {
                let _ = writeln!(out, "{}", clean(line));
            }),
            false => wrapped(out, "", paragraph),
        }
    }
}

/// One line, or more under each other: mark, key, value, what stands behind it.
fn entry(out: &mut String, mark: char, key: &str, value: &str, behind: &str) {
    let start = format!("{mark} {key:<27} {value:<16}");
    let indent = " ".repeat(20);
    let length = |text: &str| text.chars().count();
    if length(&start) + 1 + length(behind) <= WIDTH {
        let line = format!("{start} {}", clean(behind));
        let _ = writeln!(out, "{}", line.trim_end());
    } else if length(start.trim_end()) <= WIDTH {
        let _ = writeln!(out, "{}", start.trim_end());
        wrapped(out, &indent, behind);
    } else {
        let _ = writeln!(out, "{mark} {key}");
        wrapped(out, &indent, value);
        wrapped(out, &indent, behind);
    }
}

/// Words on lines of at most 80 columns.
fn wrapped(out: &mut String, indent: &str, text: &str) {
    let mut line = indent.to_string();
    for word in text.split_whitespace() {
        let word = clean(word);
        let room = line.chars().count() + 1 + word.chars().count() <= WIDTH;
        if !room && line.len() > indent.len() {
            let _ = writeln!(out, "{}", line.trim_end());
            line = indent.to_string();
        }
        if line.len() > indent.len() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if line.len() > indent.len() {
        let _ = writeln!(out, "{line}");
    }
}

/// A file's text is not the terminal's: control characters are shown, not sent.
fn clean(text: &str) -> String {
    let shown = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    shown.collect()
}
