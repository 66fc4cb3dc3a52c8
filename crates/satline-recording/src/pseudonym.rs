//! Names → pseudonyms before they are written, by the rules of `catalogue/names.toml`.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use satline_program::Error;

use crate::durable::sync_directory;
use crate::key::Key;

const SOURCE: &str = include_str!("../../../catalogue/names.toml");
const FILE: &str = "names.sealed";
/// Texts that are remembered with what stands in their place.
const REMEMBERED: usize = 65_536;
/// Shorter names are also words.
const LEAST_NAME: usize = 3;

/// Number of a rule.
pub(crate) type RuleId = u16;

/// What stands of a text.
struct Rule {
    name: String,
    keep: Option<Regex>,
    tail: Option<Regex>,
    suffix: Option<Regex>,
    split: Vec<char>,
}

/// Replaces names in what is written of one recording, and seals each in `names.sealed` before it is first written.
pub struct Pseudonymiser {
    key: Key,
    rules: Vec<Rule>,
    /// Of the text of events: kind of event → rule.
    events: HashMap<String, RuleId>,
    /// Of sources/*.toml: pattern of a place → name of a rule, `keep` or `drop`.
    places: Vec<(String, String)>,
    done: HashMap<(RuleId, String), String>,
    /// Names that were replaced, without figures and short ones: they are replaced in sentences.
    known: HashSet<String>,
    sealed: Sealed,
    failure: Option<Error>,
}

impl Pseudonymiser {
    /// For the recording in `dir`, which exists.
    ///
    /// # Errors
    /// An error of the disk, or the recording has names of another key.
    pub fn open(dir: &Path, key: Key) -> Result<Self, Error> {
        let sealed = Sealed::open(dir, &key)?;
        let document: toml::Table = SOURCE.parse().expect("catalogue/names.toml");
        let mut made = Self {
            key,
            rules: Vec::new(),
            events: HashMap::new(),
            places: pairs(&document["source"]),
            done: HashMap::new(),
            known: HashSet::new(),
            sealed,
            failure: None,
        };
        let tables = || {
            document
                .iter()
                .filter_map(|(name, v)| Some((name, v.as_table()?)))
        };
        for (name, fields) in tables() {
            made.rules.push(Rule::new(name, fields));
        }
        for (kind, rule) in tables().flat_map(|(_, fields)| fields) {
            for event in rule.as_array().into_iter().flatten() {
                let id = made.rule(kind);
                made.events
                    .insert(event.as_str().unwrap_or_default().to_owned(), id);
            }
        }
        Ok(made)
    }

    /// Which key it is.
    pub fn key_id(&self) -> String {
        self.key.id()
    }

    /// The rule of this name; `text`, of which nothing stands, where there is none.
    pub(crate) fn rule(&self, name: &str) -> RuleId {
        let at = |name: &str| self.rules.iter().position(|rule| rule.name == name);
        at(name).or_else(|| at("text")).expect("names.toml has [text]") as RuleId
    }

    /// What stands in place of a text by the rule of this name.
    pub fn replace(&mut self, text: &str, rule: &str) -> String {
        self.by_rule(text, self.rule(rule))
    }

    /// What stands in place of a text.
    pub(crate) fn by_rule(&mut self, text: &str, rule: RuleId) -> String {
        if text.is_empty() {
            return String::new();
        }
        match self.rules[usize::from(rule)].name.as_str() {
            "sentence" => return self.sentence(text),
            // Without its event it is any text.
            "event-text" => return self.by_rule(text, self.rule("text")),
            _ => {}
        }
        let key = (rule, text.to_owned());
        if let Some(known) = self.done.get(&key) {
            return known.clone();
        }
        let made = self.parts(text, rule);
        if self.done.len() >= REMEMBERED {
            self.done.clear();
            self.known.clear();
        }
        self.done.insert(key, made.clone());
        made
    }

    /// What stands in place of the text of an event.
    pub(crate) fn event_text(&mut self, event: &str, text: &str) -> String {
        let rule = self.events.get(event).copied();
        let rule = rule.unwrap_or_else(|| self.rule("text"));
        if event == "swap-state"
            && let Some((user, states)) = text.split_once('\t')
        {
            let word = self.rule("word");
            let states: Vec<_> = states
                .split('\t')
                .map(|state| self.by_rule(state, word))
                .collect();
            return format!("{}\t{}", self.by_rule(user, rule), states.join("\t"));
        }
        if rule == self.rule("device")
            && let Some((name, kind)) = text.rsplit_once(" (")
            && let Some(kind) = kind.strip_suffix(')')
            && self.by_rule(kind, self.rule("word")) == kind
        {
            return format!("{} ({kind})", self.by_rule(name, rule));
        }
        self.by_rule(text, rule)
    }

    /// What a file of sources/ says, without names.
    pub(crate) fn source(&mut self, said: toml::Table) -> toml::Table {
        let kept = said.into_iter().filter_map(|(key, value)| {
            let value = self.placed(value, &key)?;
            Some((key, value))
        });
        kept.collect()
    }

    /// names.sealed, for whoever makes it durable.
    pub(crate) fn file(&self) -> std::io::Result<(PathBuf, File)> {
        Ok((self.sealed.path.clone(), self.sealed.file.try_clone()?))
    }

    /// The first error of names.sealed.
    pub(crate) fn failure(&self) -> Result<(), Error> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn placed(&mut self, value: toml::Value, place: &str) -> Option<toml::Value> {
        Some(match value {
            toml::Value::Table(table) => {
                let kept = table.into_iter().filter_map(|(key, inner)| {
                    let inner = self.placed(inner, &format!("{place}.{key}"))?;
                    Some((key, inner))
                });
                toml::Value::Table(kept.collect())
            }
            toml::Value::Array(values) => toml::Value::Array(
                values
                    .into_iter()
                    .filter_map(|inner| self.placed(inner, place))
                    .collect(),
            ),
            toml::Value::String(text) => {
                let fits = |pattern: &str| match pattern.strip_suffix('*') {
                    Some(begin) => place.starts_with(begin),
                    None => place == pattern,
                };
                let found = self.places.iter().find(|(pattern, _)| fits(pattern));
                match found.map_or("text", |(_, rule)| rule.as_str()) {
                    "keep" => toml::Value::String(text),
                    "drop" => return None,
                    rule => {
                        let rule = self.rule(rule);
                        toml::Value::String(self.by_rule(&text, rule))
                    }
                }
            }
            other => other,
        })
    }

    fn parts(&mut self, text: &str, id: RuleId) -> String {
        let rule = &self.rules[usize::from(id)];
        if rule.stands(text) {
            return text.to_owned();
        }
        let (body, tail) = rule
            .tail
            .as_ref()
            .and_then(|tail| cut(tail, text))
            .unwrap_or((text, ""));
        if rule.stands(body) {
            return text.to_owned();
        }
        let signs = rule.split.clone();
        format!("{}{tail}", self.split(body, id, &signs))
    }

    fn split(&mut self, text: &str, id: RuleId, signs: &[char]) -> String {
        let rule = &self.rules[usize::from(id)];
        if text.is_empty() || rule.stands(text) {
            return text.to_owned();
        }
        if let Some((sign, others)) = signs.split_first() {
            let parts: Vec<_> = text
                .split(*sign)
                .map(|part| self.split(part, id, others))
                .collect();
            return parts.join(&sign.to_string());
        }
        let (body, suffix) = rule
            .suffix
            .as_ref()
            .and_then(|s| cut(s, text))
            .unwrap_or((text, ""));
        // Names that begin with _ are not users, and stay so.
        let begins = rule.name == "name" && body.len() > 1;
        let name = body.strip_prefix('_').filter(|_| begins);
        let mark = if name.is_some() { "_" } else { "" };
        format!("{mark}{}{suffix}", self.one(name.unwrap_or(body)))
    }

    fn one(&mut self, name: &str) -> String {
        let made = self.key.pseudonym(name);
        if let Err(error) = self.sealed.add(&self.key, &made, name) {
            self.failure.get_or_insert(error);
        }
        if name.len() >= LEAST_NAME && !name.bytes().all(|b| b.is_ascii_digit()) {
            self.known.insert(name.to_owned());
        }
        made
    }

    /// Replaces names that were replaced elsewhere, and paths outside of /proc and /sys.
    fn sentence(&mut self, text: &str) -> String {
        let ends = |c: char| c.is_whitespace() || ":;,='\"`()[]".contains(c);
        let mut made = String::with_capacity(text.len());
        for piece in text.split_inclusive(ends) {
            let word = piece.trim_end_matches(ends);
            if word.starts_with('/') {
                if says_nothing(word) {
                    made.push_str(word);
                } else {
                    let name = self.rule("name");
                    made.push_str(&self.split(word, name, &['/']));
                }
            } else if self.known.contains(word) {
                made.push_str(&self.key.pseudonym(word));
            } else {
                made.push_str(word);
            }
            made.push_str(&piece[word.len()..]);
        }
        made
    }
}

/// A path of the kernel that says nothing of anybody.
fn says_nothing(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_./-".contains(c);
    let kernels = ["/proc", "/sys"].iter().any(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    path == "/" || kernels && !path.starts_with("/sys/fs/cgroup") && path.chars().all(plain)
}

impl Rule {
    fn new(name: &str, fields: &toml::Table) -> Self {
        let text = |key: &str| {
            fields
                .get(key)
                .and_then(toml::Value::as_str)
                .filter(|t| !t.is_empty())
        };
        let compiled = |form: String| Regex::new(&form).expect("catalogue/names.toml");
        Self {
            name: name.to_owned(),
            keep: text("keep").map(|keep| compiled(format!("^(?:{keep})$"))),
            tail: text("tail").map(|tail| compiled(format!("^((?s:.+?))({tail})$"))),
            suffix: text("suffix").map(|suffix| compiled(format!("^((?s:.+?))({suffix})$"))),
            split: text("split").unwrap_or_default().chars().collect(),
        }
    }

    fn stands(&self, text: &str) -> bool {
        self.keep.as_ref().is_some_and(|keep| keep.is_match(text))
    }
}

/// The text before an ending, and the ending.
fn cut<'t>(ending: &Regex, text: &'t str) -> Option<(&'t str, &'t str)> {
    let found = ending.captures(text)?;
    let begin = found.get(1)?.end();
    Some(text.split_at(begin))
}

fn pairs(list: &toml::Value) -> Vec<(String, String)> {
    let pair = |pair: &toml::Value| Some((pair.get(0)?.as_str()?.into(), pair.get(1)?.as_str()?.into()));
    list.as_array().into_iter().flatten().filter_map(pair).collect()
}

/// `names.sealed`, to which a line is added for each new name.
struct Sealed {
    path: PathBuf,
    file: File,
    known: HashSet<String>,
}

impl Sealed {
    fn open(dir: &Path, key: &Key) -> Result<Self, Error> {
        let path = dir.join(FILE);
        let failed = |e| Error::file(&path, "write it", &e);
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        let mut file = options.open(&path).map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let head = format!("satline-names-1 key={}\n", key.id());
        // A kill may have left a line without its end.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(failed)?;
            text.truncate(whole);
        }
        if text.is_empty() {
            file.write_all(head.as_bytes()).map_err(failed)?;
            sync_directory(dir).map_err(failed)?;
        } else if !text.starts_with(&head) {
            return Err(Error::failure(
                format!("{}: has the names of another key", path.display()),
                "name the key that it was begun with",
            ));
        }
        let known = text.lines().skip(1).filter_map(|line| line.split_once(' '));
        let known = known.map(|(pseudonym, _)| pseudonym.to_owned()).collect();
        Ok(Self { path, file, known })
    }

    fn add(&mut self, key: &Key, pseudonym: &str, name: &str) -> Result<(), Error> {
        if self.known.contains(pseudonym) {
            return Ok(());
        }
        let line = format!("{}\n", key.sealed(pseudonym, name));
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|e| Error::file(&self.path, "write it", &e))?;
        self.known.insert(pseudonym.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::key::tests::key;

    fn names(dir: &Path) -> Pseudonymiser {
        Pseudonymiser::open(dir, key()).unwrap()
    }

    #[test]
    fn what_names_somebody_is_replaced_and_what_does_not_stands() {
        let dir = tempfile::tempdir().unwrap();
        let mut names = names(dir.path());
        let (alice, nginx) = (key().pseudonym("alice"), key().pseudonym("nginx"));
        for (text, rule, wanted) in [
            (
                "/user.slice/alice.slice/nginx.service",
                "name",
                format!("/user.slice/{alice}.slice/{nginx}.service"),
            ),
            ("alice#pts/3", "name", format!("{alice}#pts/3")),
            ("_alice", "name", format!("_{alice}")),
            ("_kernel", "name", "_kernel".into()),
            ("tcp/80 nginx", "class", format!("tcp/80 {nginx}")),
            ("flock /alice/nginx", "lock", format!("flock /{alice}/{nginx}")),
            (
                "kernel: semaphores, reading",
                "lock",
                "kernel: semaphores, reading".into(),
            ),
            ("nvme0n1p2", "device", "nvme0n1p2".into()),
            ("/alice", "device", format!("/{alice}")),
            ("connection 17", "session", "connection 17".into()),
            ("alice\nq1", "word", key().pseudonym("alice\nq1")),
            ("of alice: 3", "sentence", format!("of {alice}: 3")),
            (
                "/proc/pressure/irq of /alice/nginx",
                "sentence",
                format!("/proc/pressure/irq of /{alice}/{nginx}"),
            ),
            ("alice", "there is no such rule", alice.clone()),
            ("", "name", String::new()),
        ] {
            assert_eq!(names.replace(text, rule), wanted, "{text} {rule}");
        }
        assert_eq!(names.event_text("device-gone", "sdb (block)"), "sdb (block)");
        assert_eq!(
            names.event_text("swap-state", "alice\tidle\ttrimmed"),
            format!("{alice}\tidle\ttrimmed")
        );
        assert_eq!(
            names.event_text("services-failed", "alice nginx"),
            key().pseudonym("alice nginx")
        );
        names.failure().unwrap();
    }

    #[test]
    fn a_description_keeps_its_figures_and_words_only() {
        let dir = tempfile::tempdir().unwrap();
        let said = "writer = \"monitor\"\nerror = \"alice: no\"\n[sampling]\nsamples = 3\n[users]\ndefinition = \"rules\"\nrules = \"a = 'alice'\"\n[[missing]]\nsignal = \"x\"\nreason = \"no /home/alice\"\n";
        let made = names(dir.path()).source(said.parse().unwrap());
        assert_eq!(made["writer"].as_str(), Some("monitor"));
        assert_eq!(made["sampling"]["samples"].as_integer(), Some(3));
        assert_eq!(made["users"]["definition"].as_str(), Some("rules"));
        let text = toml::to_string(&made).unwrap();
        assert!(!text.contains("alice"), "{text}");
    }

    #[test]
    fn names_are_sealed_once_and_a_torn_line_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        names(dir.path()).replace("alice", "name");
        let path = dir.path().join(FILE);
        let whole = fs::read_to_string(&path).unwrap();
        assert_eq!(whole.lines().count(), 2);
        fs::write(&path, format!("{whole}p-vx63")).unwrap();
        let mut again = names(dir.path());
        again.replace("alice", "name");
        again.replace("alice", "class");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        fs::write(&path, whole.replacen("key=", "key=0", 1)).unwrap();
        assert!(Pseudonymiser::open(dir.path(), key()).is_err());
    }
}
