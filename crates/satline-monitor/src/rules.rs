//! Who is a user, by rules in a file: the first rule that fits a process names its user.
//!
//! ```toml
//! [[rule]]
//! slurm_job = true                    # fits what runs in a job of Slurm
//! user = "{slurm_user}/{slurm_job}"   # and this is its user's name
//!
//! [[rule]]
//! unit = ["cron.service", "backup-*"]
//! exclude = true                      # work of the host, not of a user
//! ```
//!
//! All conditions of a rule must hold; a name needs all of its fields. What no rule fits is `_host`.

mod file;

use std::collections::HashMap;

use crate::placement::Placement;
pub use file::FileError;

/// What a rule may ask for, and a name may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Uid,
    Login,
    AuditLogin,
    Session,
    Slice,
    Unit,
    Cgroup,
    Container,
    ContainerId,
    Runtime,
    Pod,
    Quality,
    SlurmJob,
    SlurmStep,
    SlurmUser,
    Notebook,
    Command,
}

impl Key {
    /// By name in the file.
    pub const ALL: [(&str, Key); 17] = [
        ("uid", Key::Uid),
        ("login", Key::Login),
        ("audit_login", Key::AuditLogin),
        ("session", Key::Session),
        ("slice", Key::Slice),
        ("unit", Key::Unit),
        ("cgroup", Key::Cgroup),
        ("container", Key::Container),
        ("container_id", Key::ContainerId),
        ("runtime", Key::Runtime),
        ("pod", Key::Pod),
        ("qos", Key::Quality),
        ("slurm_job", Key::SlurmJob),
        ("slurm_step", Key::SlurmStep),
        ("slurm_user", Key::SlurmUser),
        ("jupyter", Key::Notebook),
        ("command", Key::Command),
    ];
}

/// What is known of one process. `None`: it could not be asked, since it has ended.
pub trait Source {
    /// Effective user.
    fn uid(&mut self) -> Option<u32>;
    /// Name of a user number; the number, where it has none.
    fn login(&self, uid: u32) -> String;
    /// Audit login and session; `Some(None)`: it is in no login session.
    fn session(&mut self) -> Option<Option<(String, u32)>>;
    fn placement(&mut self) -> Option<&Placement>;
    /// JUPYTERHUB_USER of its environment, where it may be read.
    fn notebook_variable(&mut self) -> Option<String>;
    /// Name of its program, at most 15 bytes.
    fn command(&mut self) -> Option<String>;
}

/// What the rules say of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    User(String),
    /// Excluded by a rule, or fitted by none.
    Host,
    /// Something that the rules ask for could not be read.
    Unknown,
}

/// The rules of a file, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The whole file, for the recording.
    pub text: String,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    uids: Vec<(u32, u32)>,
    conditions: Vec<(Key, Vec<String>)>,
    /// `None`: excluded.
    name: Option<Vec<Piece>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Key),
    /// What a `*` of the key's condition stood for, from 0.
    Part(Key, usize),
}

impl Rules {
    /// The user of a process.
    pub fn verdict(&self, source: &mut dyn Source) -> Verdict {
        for rule in &self.rules {
            match rule.apply(source) {
                None => return Verdict::Unknown,
                Some(Some(verdict)) => return verdict,
                Some(None) => {}
            }
        }
        Verdict::Host
    }
}

/// What the conditions of a rule have found: by key the value and what each `*` stood for.
type Found = HashMap<Key, (String, Vec<String>)>;

impl Rule {
    /// `None`: it cannot be told. `Some(None)`: the rule does not fit.
    fn apply(&self, source: &mut dyn Source) -> Option<Option<Verdict>> {
        let mut found = Found::new();
        if !self.uids.is_empty() {
            let uid = source.uid()?;
            if !self.uids.iter().any(|(low, high)| (*low..=*high).contains(&uid)) {
                return Some(None);
            }
        }
        for (key, patterns) in &self.conditions {
            let fitting = values(*key, source)?.into_iter().find_map(|value| {
                let parts = patterns.iter().find_map(|pattern| fits(pattern, &value))?;
                Some((value, parts))
            });
            match fitting {
                Some(one) => found.insert(*key, one),
                None => return Some(None),
            };
        }
        let Some(pieces) = &self.name else {
            return Some(Some(Verdict::Host));
        };
        let mut name = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => name.push_str(text),
                Piece::Part(key, number) => name.push_str(found.get(key)?.1.get(*number)?),
                Piece::Field(key) => {
                    let value = match found.get(key) {
                        Some((value, _)) => Some(value.clone()),
                        None => values(*key, source)?.into_iter().next(),
                    };
                    match value {
                        Some(value) => name.push_str(shown(*key, &value)),
                        None => return Some(None),
                    }
                }
            }
        }
        // Names that begin with _ are no users. A rule may say so; a process may not choose it for itself.
        let is_said = matches!(pieces.first(), Some(Piece::Text(text)) if text.starts_with('_'));
        let name = if is_said {
            &name[..]
        } else {
            name.trim_start_matches('_')
        };
        Some((!name.is_empty()).then(|| Verdict::User(name.to_owned())))
    }
}

/// A container is named by twelve digits, as `docker ps` and `podman ps` have it.
fn shown(key: Key, value: &str) -> &str {
    match (key, value.len()) {
        (Key::Container, 64) => value.get(..12).unwrap_or(value),
        _ => value,
    }
}

/// The values that a process has of a key, the best first; `None`: it cannot be asked.
fn values(key: Key, source: &mut dyn Source) -> Option<Vec<String>> {
    let one = |value: Option<String>| Some(value.into_iter().collect::<Vec<_>>());
    match key {
        Key::Uid => one(Some(source.uid()?.to_string())),
        Key::Login => {
            let uid = source.uid()?;
            one(Some(source.login(uid)))
        }
        Key::AuditLogin => one(source.session()?.map(|(login, _)| login)),
        Key::Session => one(source
            .session()?
            .map(|(login, number)| format!("{login}#{number}"))),
        Key::Command => one(Some(source.command()?)),
        Key::Slice => Some(source.placement()?.slices.clone()),
        Key::Unit => Some(source.placement()?.units.clone()),
        Key::Cgroup => Some(source.placement()?.paths.clone()),
        Key::Pod => one(source.placement()?.pod.clone()),
        Key::Quality => one(source.placement()?.quality.map(str::to_owned)),
        Key::ContainerId => one(source.placement()?.container.as_ref().map(|(id, _)| id.clone())),
        Key::Container => {
            let id = source.placement()?.container.as_ref().map(|(id, _)| id.clone());
            let short = id.as_ref().map(|id| shown(key, id).to_owned());
            Some(id.into_iter().chain(short).collect())
        }
        Key::Runtime => {
            let container = source.placement()?.container.as_ref();
            one(container.map(|(_, runtime)| (*runtime).to_owned()))
        }
        Key::SlurmJob => one(source.placement()?.job.as_ref().map(|job| job.job.clone())),
        Key::SlurmStep => one(source.placement()?.job.as_ref().and_then(|job| job.step.clone())),
        Key::SlurmUser => match source.placement()?.job.clone() {
            None => one(None),
            Some(job) => match job.uid {
                Some(uid) => one(Some(source.login(uid))),
                // Version 2 does not say whose the job is: its processes do, but for Slurm's own.
                None if job.is_daemon => one(None),
                None => {
                    let uid = source.uid()?;
                    one(Some(source.login(uid)))
                }
            },
        },
        Key::Notebook => {
            let placement = source.placement()?;
            let is_contained = placement.container.is_some() || placement.pod.is_some();
            match placement.notebook.clone() {
                // The name of a container is in no path; the hub tells the server whose it is.
                None if is_contained => one(source.notebook_variable()),
                known => one(known),
            }
        }
    }
}

/// Whether a pattern of `*` (any text) and `?` (one sign) is the whole text, and what each `*` stood for, each as
/// short as can be from the left.
///
/// It goes back to the last `*` only, which is enough for these two signs: no text makes it slow.
fn fits(pattern: &str, text: &str) -> Option<Vec<String>> {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Begin and end, in the text, of what each * stands for.
    let mut stars: Vec<(usize, usize)> = Vec::new();
    let mut after_star = 0;
    loop {
        match pattern.get(p) {
            Some('*') => {
                stars.push((t, t));
                p += 1;
                after_star = p;
                continue;
            }
            None if t == text.len() => break,
            Some(&sign) if text.get(t).is_some_and(|&here| sign == '?' || sign == here) => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            _ => {}
        }
        let (_, end) = stars.last_mut()?;
        if *end == text.len() {
            return None;
        }
        *end += 1;
        (p, t) = (after_star, *end);
    }
    Some(stars.iter().map(|&(a, b)| text[a..b].iter().collect()).collect())
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
