//! Everything that is looked at before anything starts.

mod ssh;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use satline_program::Error;

use crate::allow::{self, Ask, Consent};
use crate::cli::RunOptions;
use crate::lines::pty::{self, Launcher};
use crate::lines::tls::{Client, Missing};
use crate::lines::{Lines, Target, try_out};
use crate::plan::{Plan, Step};
use crate::workload::Workload;

pub(crate) fn plan_of(options: &RunOptions) -> Result<Plan, Error> {
    for &users in &options.steps {
        if users == 0 || users > options.max_users {
            let what = format!(
                "--steps: {users} users; a step has 1 to {} (--max-users)",
                options.max_users
            );
            return Err(Error::input(
                what,
                "for example --steps 1,2,4,8; raise --max-users if it is meant",
            ));
        }
    }
    if options.window == 0 {
        return Err(Error::input(
            "--window: the measured time is 0",
            "for example --window 12s",
        ));
    }
    if !(options.max_rate > 0.0 && options.max_rate.is_finite()) {
        let what = format!("--max-rate: {} is not above 0", options.max_rate);
        return Err(Error::input(what, "for example --max-rate 100"));
    }
    let plan = Plan {
        steps: options.steps.iter().copied().map(Step::of).collect(),
        ramp_ns: options.ramp,
        ramp_per_user: options.ramp_per_user,
        warmup_ns: options.warmup,
        window_ns: options.window,
        most: if options.follow {
            options.max_users
        } else {
            options.steps.iter().copied().max().unwrap_or(0)
        },
    };
    let (total, most) = (plan.total_s(), options.max_time as f64 / 1e9);
    if total > most {
        let what = format!("--steps: the plan takes {total:.0} s; --max-time is {most:.0} s");
        return Err(Error::input(
            what,
            "shorten it, or raise --max-time if it is meant",
        ));
    }
    Ok(plan)
}

/// How the users' lines are opened.
pub(crate) fn lines(
    options: &RunOptions,
    workload: &Workload,
    environment: &[(String, String)],
    file_limit: libc::rlimit,
) -> Result<Lines, Error> {
    let target = &workload.line.target;
    if let Target::Remote {
        protocol,
        tls,
        ref host,
        ..
    } = *target
    {
        let found = target.resolve();
        let address = found.ok().flatten().ok_or_else(|| {
            let what = format!("{}: the line {target}: no address is known", workload.origin);
            Error::input(what, "see whether the name of the host is right")
        })?;
        return Ok(Lines::Remote {
            address,
            protocol,
            echo: workload.line.echo,
            tls: tls.then(|| client(workload, host)).transpose()?,
        });
    }
    if let Target::Ssh { user, host, port } = target {
        return ssh::lines(options, workload, environment, (user.as_deref(), host, *port));
    }
    let shell = &workload.shell[0];
    let program = pty::find_program(shell, search_path(environment, &options.env)).ok_or_else(|| {
        let what = format!("{}: key shell: {shell} is no program in PATH", workload.origin);
        Error::input(what, "install it, or name another shell")
    })?;
    let affinity = options.affinity.as_ref().map(|list| list.0.as_slice());
    Launcher::new(
        &program,
        &workload.shell,
        &options.cgroup_procs,
        affinity,
        file_limit,
    )
    .map(Lines::Pty)
    .map_err(|error| Error::input(format!("key shell or --cgroup-procs: {error}"), "remove it"))
}

/// TLS for the lines to this host.
fn client(workload: &Workload, host: &str) -> Result<Client, Error> {
    let (origin, target) = (&workload.origin, &workload.line.target);
    let ca = workload.line.ca.as_deref();
    // OpenSSL's words do not name it.
    if let Some(Err(error)) = ca.map(fs::File::open) {
        let shown = ca.unwrap_or(Path::new("")).display();
        let what = format!("{origin}: key line.ca or --tls-ca: cannot read {shown}: {error}");
        return Err(Error::input(what, "name a file that is there"));
    }
    Client::new(host, ca).map_err(|missing| match (missing, ca) {
        (Missing::Library(why), _) => Error::input(
            format!("{origin}: the line {target} needs this host's OpenSSL: {why}"),
            "install it (apt-get install libssl3)",
        ),
        (Missing::Authority(why), Some(ca)) => Error::input(
            format!(
                "{origin}: key line.ca or --tls-ca: {} holds no certificate (OpenSSL: {why})",
                ca.display()
            ),
            "name a file of certificates in PEM, the authority's among them",
        ),
        (Missing::Authority(why), None) => Error::input(
            format!("{origin}: the line {target}: OpenSSL cannot begin: {why}"),
            "see OpenSSL's configuration on this host",
        ),
    })
}

/// Looks at the server's certificate before anything starts; a server that cannot be reached is met in the run, as on
/// every line.
pub(crate) fn try_tls(options: &RunOptions, workload: &Workload, lines: &Lines) -> Result<(), Error> {
    let Lines::Remote {
        address,
        tls: Some(tls),
        ..
    } = lines
    else {
        return Ok(());
    };
    let patience = Duration::from_nanos(options.logon_timeout.max(0) as u64);
    match try_out(*address, tls, patience) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let target = &workload.line.target;
            let what = format!("{}: the line {target}: the server {error}", workload.origin);
            let hint = format!(
                "see `openssl s_client -connect {}`; a private authority's certificate goes into line.ca, or --tls-ca",
                target.place()
            );
            Err(Error::input(what, hint))
        }
        _ => Ok(()),
    }
}

/// What the options say of the line goes before the workload.
pub(crate) fn line_options(options: &RunOptions, workload: &mut Workload) -> Result<(), Error> {
    if let Some(file) = &options.tls_ca {
        if !workload.line.target.is_tls() {
            let what = format!("--tls-ca: the line is {}", workload.line.target);
            let hint = "write --line tls:HOST:PORT or https://HOST, or leave it out";
            return Err(Error::input(what, hint));
        }
        workload.line.ca = Some(file.clone());
    }
    ssh::options(options, workload)
}

/// Asks the owner of a host that is not this one.
pub(crate) fn consent(
    options: &RunOptions,
    workload: &Workload,
    plan: &Plan,
    lines: &Lines,
    users: usize,
) -> Result<Option<Consent>, Error> {
    let ask = |port| Ask {
        port,
        users,
        rate: options.max_rate,
        seconds: if options.follow {
            options.max_time as f64 / 1e9
        } else {
            plan.total_s() + options.drain as f64 / 1e9
        },
    };
    let (address, host) = match (lines, &workload.line.target) {
        (Lines::Remote { address, .. }, Target::Remote { host, .. }) => (address, host),
        (_, Target::Ssh { host, port, .. }) => {
            return ssh::consent(options, workload, lines, host, &ask(*port));
        }
        _ => return Ok(None),
    };
    if address.ip().is_loopback() {
        return Ok(None);
    }
    let ask = ask(address.port());
    allow::consent(options.allow.as_deref(), host, address.ip(), &ask).map(Some)
}

/// PATH as the users have it.
fn search_path<'a>(environment: &'a [(String, String)], extra: &'a [(String, String)]) -> &'a str {
    let path = extra
        .iter()
        .rev()
        .chain(environment)
        .find(|(key, _)| key == "PATH");
    path.map_or("/usr/local/bin:/usr/bin:/bin", |(_, value)| value.as_str())
}

/// Finds everything that the workload requires.
pub(crate) fn look_for_programs(
    workload: &Workload,
    environment: &[(String, String)],
    extra: &[(String, String)],
) -> Result<(), Error> {
    let path = search_path(environment, extra);
    let missing: Vec<&str> = workload
        .requires
        .iter()
        .map(String::as_str)
        .filter(|name| pty::find_program(name, path).is_none())
        .collect();
    if !missing.is_empty() {
        let what = format!(
            "{}: key requires: not found in PATH: {}",
            workload.origin,
            missing.join(", ")
        );
        return Err(Error::input(
            what,
            "install the programs, or take commands that need them out",
        ));
    }
    Ok(())
}

/// What would otherwise fail only after the start.
pub(crate) fn look_at_limits(options: &RunOptions, most: usize, target: &Target) -> Result<(), Error> {
    if let Some(processor) = options.processor {
        satline_program::scheduling::pin(&[processor]).map_err(|error| {
            let what = format!("--processor: cannot run on processor {processor}: {error}");
            Error::input(what, "name a processor that exists and is allowed")
        })?;
    }
    for path in &options.cgroup_procs {
        OpenOptions::new().write(true).open(path).map_err(|error| {
            let what = format!("--cgroup-procs: cannot write {}: {error}", path.display());
            Error::input(
                what,
                "name the file cgroup.procs of a control group that this user may change",
            )
        })?;
    }
    let most_terminals = fs::read_to_string("/proc/sys/kernel/pty/max").ok();
    if let Some(limit) = most_terminals.and_then(|text| text.trim().parse::<usize>().ok()) {
        if most > limit && *target == Target::Pty {
            let what = format!("--steps: {most} users, and this host allows {limit} terminals");
            return Err(Error::input(what, "raise kernel.pty.max, or ask for fewer users"));
        }
    }
    Ok(())
}
