//! `[line]`: how the users reach the system, and how they log on.

use std::path::{Path, PathBuf};

use satline_program::{Error, clock::seconds_to_ns};
use serde::Deserialize;

use super::check::{Ending, Place, ending, template};
use super::template::Template;
use super::{PatternKey, PromptKey};
use crate::lines::ssh::{Carrier, Settings};
use crate::lines::{Protocol, Target};
use crate::secret::Source;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineKey {
    /// As `Target::parse` reads it; default `pty`. Option --line has the last word.
    pub to: Option<String>,
    /// TLS only. File of the authorities that are believed, in place of the host's own; beside the workload.
    pub ca: Option<String>,
    /// What is sent where a user presses return. Default: `lf` on tcp and tls, `cr` on all others.
    pub line_end: Option<LineEndKey>,
    /// The other end repeats what is typed. Default: not on tcp and tls; on telnet as it is agreed.
    pub echo: Option<bool>,
    pub password: Option<PasswordKey>,
    /// Prompts and what is typed at each before the users are logged on.
    #[serde(default)]
    pub logon: Vec<LogOnKey>,
    /// Log-ons in a row that may fail, or sessions lost with nothing answered, before a user gives up.
    pub retries: Option<u32>,
    /// Pause before a log-on is tried again; doubled each time, to a minute.
    pub retry_seconds: Option<f64>,
    /// SSH only, as the next five. What carries the lines.
    pub client: Option<Carrier>,
    /// File of the key; beside the workload.
    pub identity: Option<String>,
    /// File of known hosts; beside the workload.
    pub known_hosts: Option<String>,
    /// Configuration of `ssh` in place of the system's and the user's; beside the workload.
    pub config: Option<String>,
    pub sessions_per_connection: Option<usize>,
    /// Connections that may be under way at one time.
    pub log_ons_at_once: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEndKey {
    Cr,
    Lf,
    Crlf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected password = { file = \"…\" } or { variable = \"…\" }"
)]
pub enum PasswordKey {
    Place(PasswordPlace),
    /// A password itself: refused, without being repeated.
    Literal(serde::de::IgnoredAny),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasswordPlace {
    pub file: Option<String>,
    pub variable: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogOnKey {
    pub wait: String,
    pub send: Option<String>,
    /// Types the password.
    #[serde(default)]
    pub send_password: bool,
}

/// `[line]`, checked.
#[derive(Debug, Clone)]
pub struct Line {
    pub target: Target,
    pub line_end: &'static [u8],
    /// None: as the line agrees on it.
    pub echo: Option<bool>,
    pub password: Option<Source>,
    pub logon: Vec<LogOn>,
    pub retries: u32,
    pub retry_ns: i64,
    pub ssh: Settings,
    /// Authorities that are believed; None: the host's own.
    pub ca: Option<PathBuf>,
}

/// One prompt of the log-on and what is typed at it.
#[derive(Debug, Clone)]
pub struct LogOn {
    pub wait: Ending,
    /// None: the password.
    pub send: Option<Template>,
}

pub(super) fn line(key: &LineKey, target: Option<&Target>, place: &Place<'_>) -> Result<Line, Error> {
    let target = match (target, &key.to) {
        (Some(target), _) => target.clone(),
        (None, None) => Target::Pty,
        (None, Some(text)) => Target::parse(text)
            .map_err(|what| place.wrong("line.to", what, "for example to = \"telnet:127.0.0.1:2323\""))?,
    };
    let retry_seconds = key.retry_seconds.unwrap_or(1.0);
    if !(0.01..=3600.0).contains(&retry_seconds) {
        let what = format!("{retry_seconds} is not between 0.01 and 3600");
        return Err(place.wrong("line.retry_seconds", what, "for example retry_seconds = 1.0"));
    }
    let password = match &key.password {
        None => None,
        Some(PasswordKey::Place(PasswordPlace {
            file: Some(file),
            variable: None,
        })) => Some(Source::File(file.into())),
        Some(PasswordKey::Place(PasswordPlace {
            file: None,
            variable: Some(name),
        })) => Some(Source::Variable(name.clone())),
        Some(_) => {
            let hint = "write password = { file = \"passwords\" } or password = { variable = \"NAME\" }";
            return Err(place.wrong("line.password", "says not where the password is", hint));
        }
    };
    let steps = key.logon.iter().enumerate();
    let steps = steps.map(|(number, step)| logon(step, number, password.is_some(), place.origin));
    let logon = steps.collect::<Result<Vec<_>, _>>()?;
    let plain = matches!(
        &target,
        Target::Remote {
            protocol: Protocol::Tcp | Protocol::Http,
            ..
        }
    );
    let end = key
        .line_end
        .unwrap_or(if plain { LineEndKey::Lf } else { LineEndKey::Cr });
    Ok(Line {
        ssh: ssh(key, &target, place)?,
        ca: ca(key, &target, place)?,
        target,
        line_end: match end {
            LineEndKey::Cr => b"\r",
            LineEndKey::Lf => b"\n",
            LineEndKey::Crlf => b"\r\n",
        },
        echo: key.echo.or(plain.then_some(false)),
        password,
        logon,
        retries: key.retries.unwrap_or(3),
        retry_ns: seconds_to_ns(retry_seconds),
    })
}

fn ca(key: &LineKey, target: &Target, place: &Place<'_>) -> Result<Option<PathBuf>, Error> {
    let Some(text) = &key.ca else { return Ok(None) };
    if !target.is_tls() {
        let what = format!("belongs to tls and https, and the line is {target}");
        return Err(place.wrong("line.ca", what, "remove it, or write to = \"tls:HOST:PORT\""));
    }
    Ok(Some(beside(place).join(text)))
}

/// Where the files are that the workload names.
fn beside<'a>(place: &Place<'a>) -> &'a Path {
    Path::new(place.origin).parent().unwrap_or(Path::new("."))
}

fn ssh(key: &LineKey, target: &Target, place: &Place<'_>) -> Result<Settings, Error> {
    let files = [
        ("identity", &key.identity),
        ("known_hosts", &key.known_hosts),
        ("config", &key.config),
    ];
    let counts = [
        ("sessions_per_connection", key.sessions_per_connection, 1000),
        ("log_ons_at_once", key.log_ons_at_once, 10_000),
    ];
    let mut given = files
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(name, _)| *name);
    let counted = counts
        .iter()
        .find(|(_, value, _)| value.is_some())
        .map(|(name, ..)| *name);
    let carried = key.client.map(|_| "client");
    let given = carried.or(given.next()).or(counted);
    if let (false, Some(name)) = (matches!(target, Target::Ssh { .. }), given) {
        let what = format!("belongs to ssh, and the line is {target}");
        return Err(place.wrong(
            &format!("line.{name}"),
            what,
            "remove it, or write to = \"ssh:USER@HOST:PORT\"",
        ));
    }
    for (name, value, most) in counts {
        if value.is_some_and(|value| value == 0 || value > most) {
            let what = format!("is not between 1 and {most}");
            return Err(place.wrong(&format!("line.{name}"), what, "for example 8"));
        }
    }
    let beside = beside(place);
    let file = |text: &Option<String>| text.as_ref().map(|text| beside.join(text));
    let default = Settings::default();
    Ok(Settings {
        client: key.client.unwrap_or_default(),
        identity: file(&key.identity),
        known_hosts: file(&key.known_hosts),
        config: file(&key.config),
        sessions_per_connection: key
            .sessions_per_connection
            .unwrap_or(default.sessions_per_connection),
        log_ons_at_once: key.log_ons_at_once.unwrap_or(default.log_ons_at_once),
    })
}

fn logon(key: &LogOnKey, number: usize, has_password: bool, origin: &str) -> Result<LogOn, Error> {
    let place = Place {
        origin,
        at: format!("line.logon {}", number + 1),
    };
    let hint = "write send = \"text\", or send_password = true and say in line.password where it is";
    let send = match (&key.send, key.send_password) {
        (Some(text), false) => Some(template(text, "send", &place)?),
        (None, true) if has_password => None,
        _ => return Err(place.wrong("send", "one of send and send_password is needed", hint)),
    };
    let wait = PromptKey::Pattern(PatternKey {
        pattern: key.wait.clone(),
    });
    Ok(LogOn {
        wait: ending(&wait, &place)?,
        send,
    })
}
