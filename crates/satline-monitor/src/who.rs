//! Who is a user now: for whoever writes rules, and to see them right before they are recorded by.

use std::collections::BTreeMap;
use std::fmt::Write;

use satline_program::{Error, harmless};

use crate::accounting::{ExitMethod, ProcessTable, ScanOptions};
use crate::files::{DescriptorBudget, Roots};
use crate::options::Options;
use crate::plausible::Times;
use crate::users::{HOST, KERNEL, Users};

/// Programs of one user that are named.
const SHOWN: usize = 8;

/// A line for each user: its name, how many processes it has, and which programs; those with most processes first.
///
/// # Errors
/// `/proc` cannot be listed.
pub fn is_a_user(options: &Options) -> Result<String, Error> {
    let roots = Roots {
        proc: options.proc.clone(),
        sys: options.sys.clone(),
    };
    let scan = ScanOptions {
        exits: ExitMethod::WaitedChildren,
        delays: false,
        schedstat: false,
        ns_per_tick: 10_000_000,
    };
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut users = Users::new(
        options.users.clone(),
        roots.clone(),
        &options.etc.join("passwd"),
        own,
    );
    users.companion(options.companion);
    let failed = |error| roots.not_listed(&error);
    let mut table = ProcessTable::open(&roots.proc, DescriptorBudget::of(0), scan).map_err(failed)?;
    // One look: there is no reading before to hold gains against.
    let times = Times {
        before_ns: i64::MIN,
        at_ns: 0,
        boot_ahead_ns: 0,
        clock: &|| 0,
    };
    table.scan(&mut users, &mut None, &times).map_err(failed)?;
    let mut found: BTreeMap<usize, BTreeMap<String, usize>> = BTreeMap::new();
    for process in table.processes() {
        let Some(first) = process.threads.first() else {
            continue;
        };
        let user = process.user.unwrap_or(HOST);
        if user != KERNEL {
            let programs = found.entry(user).or_default();
            *programs.entry(first.name.text().into_owned()).or_default() += 1;
        }
    }
    let mut lines: Vec<(usize, &str, String)> = Vec::new();
    for (user, programs) in &found {
        let mut programs: Vec<_> = programs.iter().collect();
        programs.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let named = programs.iter().take(SHOWN).map(|(name, count)| match count {
            1 => (*name).clone(),
            _ => format!("{name} ({count})"),
        });
        let mut shown = named.collect::<Vec<_>>().join(", ");
        if programs.len() > SHOWN {
            shown.push_str(", …");
        }
        let count = programs.iter().map(|(_, count)| **count).sum();
        lines.push((count, &users.names()[*user], shown));
    }
    lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let width = lines.iter().map(|(_, name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0).clamp(4, 40);
    let mut text = format!("{:width$}  processes  programs\n", "user");
    for (count, name, programs) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:width$}  {count:>9}  {}",
            harmless(name),
            harmless(&programs)
        );
    }
    Ok(text)
}
