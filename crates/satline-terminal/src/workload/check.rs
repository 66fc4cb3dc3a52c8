//! From the workload file as written to one that can run: every value checked, every pattern compiled.

use std::sync::Arc;

use regex::bytes::Regex;
use satline_program::{Error, clock::seconds_to_ns};

use super::line::{Line, line};
use super::request::{Request, request};
use super::template::Template;
use super::times::{Arrivals, Think, arrivals, think, typing};
use super::{CommandKey, OrderKey, PromptKey, ScriptKey, TypingKey, WorkloadFile};
use crate::draws::DrawsKey;
use crate::lines::Target;
use crate::lines::ssh::Carrier;
use crate::random::Seconds;

/// A workload that can run.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The file it came from, for errors.
    pub origin: String,
    pub name: Arc<str>,
    pub shell: Vec<String>,
    pub line: Line,
    /// The prompt of the shell.
    pub ending: Ending,
    pub timeout_ns: i64,
    /// Quiet time after which what looks like a prompt is one.
    pub settle_ns: i64,
    pub requires: Vec<String>,
    pub setup: Vec<Template>,
    /// Time between keys; None: lines are pasted at once.
    pub key_gap: Option<Seconds>,
    /// None: each user thinks between the answer and the next command.
    pub arrivals: Option<Arrivals>,
    pub draws: DrawsKey,
    pub scripts: Vec<Script>,
}

/// What ends a response.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The shell's OSC 133 marks.
    Marks,
    /// Output that ends in a match.
    Pattern(Arc<Regex>),
    /// The answer says itself where it ends (HTTP).
    Message,
}

#[derive(Debug, Clone)]
pub struct Script {
    pub name: Arc<str>,
    pub share: f64,
    /// Commands in order, else drawn by weight.
    pub sequence: bool,
    pub commands: Vec<Command>,
}

#[derive(Debug, Clone)]
pub struct Command {
    pub class: Arc<str>,
    /// What is typed, where it is not a request.
    pub input: Template,
    pub request: Option<Request>,
    pub weight: f64,
    pub expect: Option<Regex>,
    pub think: Think,
    pub ending: Ending,
}

impl Workload {
    /// True if any response ends by a pattern, so that echo must be followed on the screen.
    pub fn uses_patterns(&self) -> bool {
        let mut endings = self
            .scripts
            .iter()
            .flat_map(|script| &script.commands)
            .map(|command| &command.ending);
        matches!(self.ending, Ending::Pattern(_))
            || endings.any(|ending| matches!(ending, Ending::Pattern(_)))
    }

    /// The script of each of `users` users, so that every first n are in proportion to the shares as nearly as
    /// whole users allow; a longer deal begins as a shorter one.
    pub fn deal(&self, users: usize) -> Vec<usize> {
        let total: f64 = self.scripts.iter().map(|script| script.share).sum();
        let mut dealt = vec![0.0; self.scripts.len()];
        (1..=users)
            .map(|count| {
                let want = |script: usize| self.scripts[script].share / total * count as f64 - dealt[script];
                let best = (0..self.scripts.len())
                    .fold(0, |best, next| if want(next) > want(best) { next } else { best });
                dealt[best] += 1.0;
                best
            })
            .collect()
    }
}

/// Where in the file a value stands, for errors.
pub(super) struct Place<'a> {
    pub origin: &'a str,
    pub at: String,
}

impl Place<'_> {
    pub fn wrong(&self, key: &str, what: impl std::fmt::Display, hint: &str) -> Error {
        let at = if self.at.is_empty() {
            String::new()
        } else {
            format!("{}, ", self.at)
        };
        Error::input(format!("{}: {at}key {key}: {what}", self.origin), hint)
    }
}

/// `target`: where the users' lines lead, if an option says so.
pub(super) fn check(file: &WorkloadFile, origin: &str, target: Option<&Target>) -> Result<Workload, Error> {
    let place = Place {
        origin,
        at: String::new(),
    };
    if file.name.trim().is_empty() {
        return Err(place.wrong("name", "is empty", "give the workload a name"));
    }
    let line = line(&file.line, target, &place)?;
    let over_ssh = matches!(line.target, Target::Ssh { .. });
    let program = file.shell.first().map_or("", String::as_str);
    if program.is_empty() && !(over_ssh && file.shell.is_empty()) {
        return Err(place.wrong(
            "shell",
            "names no program",
            "for example shell = [\"bash\", \"--noprofile\", \"--norc\", \"-i\"]",
        ));
    }
    if file.shell.iter().any(|part| part.contains('\0')) {
        return Err(place.wrong("shell", "holds a NUL", "remove it"));
    }
    let ending = match ending(&file.prompt, &place)? {
        Ending::Marks if line.target.is_http() => Ending::Message,
        ending => ending,
    };
    if line.target.is_http() {
        let key = match (&ending, line.logon.is_empty(), file.setup.is_empty()) {
            (Ending::Pattern(_), ..) => Some("prompt"),
            (_, false, _) => Some("line.logon"),
            (.., false) => Some("setup"),
            _ => None,
        };
        if let Some(key) = key {
            let hint = "remove it; the first requests of a script with order = \"sequence\" can log on";
            return Err(place.wrong(
                key,
                format!("belongs to terminals, and the line is {}", line.target),
                hint,
            ));
        }
    }
    if matches!(ending, Ending::Marks) && !line.logon.is_empty() {
        let hint = "write prompt = { pattern = … }, or take the log-on out";
        return Err(place.wrong("line.logon", "a shell with marks has none", hint));
    }
    if matches!(ending, Ending::Marks) && line.target.is_remote() && !over_ssh {
        let what = format!("marks need a shell of ours, and the line is {}", line.target);
        let hint = "write prompt = { pattern = 'regular expression of the prompt' }";
        return Err(place.wrong("prompt", what, hint));
    }
    if matches!(ending, Ending::Marks) && program.rsplit('/').next() != Some("bash") {
        let hint =
            "use shell = [\"bash\", …], or prompt = { pattern = \"regular expression of the prompt\" }";
        return Err(place.wrong(
            "prompt",
            format!("marks need bash, and the shell is {program}"),
            hint,
        ));
    }
    let processes = line.ssh.client == Carrier::Ssh;
    if file.shell.is_empty() && processes && line.ssh.sessions_per_connection > 1 {
        // The client that holds the connection gives such terminals no modes at all.
        let hint = "name the shell, for example shell = [\"bash\", \"-il\"]";
        return Err(place.wrong("shell", "users who share a connection need one", hint));
    }
    if !(file.timeout_seconds > 0.0 && file.timeout_seconds <= 86_400.0) {
        let what = format!("{} is not a time between 0 and 86400", file.timeout_seconds);
        return Err(place.wrong("timeout_seconds", what, "for example timeout_seconds = 60"));
    }
    if !(0.0..=10.0).contains(&file.settle_seconds) {
        let what = format!("{} is not a time between 0 and 10", file.settle_seconds);
        return Err(place.wrong("settle_seconds", what, "for example settle_seconds = 0.02"));
    }
    let arrivals = file
        .arrivals
        .as_ref()
        .map(|key| arrivals(key, &place))
        .transpose()?;
    let at_once = arrivals.is_some() || matches!(ending, Ending::Message);
    let key_gap = match (&file.typing, at_once) {
        // An arrival is a whole line at its time.
        (None, true) => None,
        (Some(key), true) if key.characters_per_second != 0.0 => {
            let hint = "write typing = { characters_per_second = 0 }, or leave it out";
            return Err(place.wrong("typing", "requests and commands that arrive are not typed", hint));
        }
        (None, false) => typing(&TypingKey::default(), &place)?,
        (Some(key), _) => typing(key, &place)?,
    };
    let setup = file.setup.iter().enumerate().map(|(number, line)| {
        let place = Place {
            origin,
            at: format!("setup line {}", number + 1),
        };
        template(line, "setup", &place)
    });
    let setup = setup.collect::<Result<Vec<_>, _>>()?;
    let think = think(&file.think, &place)?;
    if file.script.is_empty() {
        return Err(place.wrong(
            "script",
            "there is none",
            "add [[script]] with at least one [[script.command]]",
        ));
    }
    let mut scripts: Vec<Script> = Vec::new();
    for key in &file.script {
        if scripts.iter().any(|script| *script.name == *key.name) {
            return Err(place.wrong(
                "script",
                format!("two scripts are named {:?}", key.name),
                "name each differently",
            ));
        }
        scripts.push(script(key, &think, &ending, origin)?);
    }
    Ok(Workload {
        origin: origin.into(),
        name: file.name.as_str().into(),
        shell: file.shell.clone(),
        ending,
        line,
        timeout_ns: seconds_to_ns(file.timeout_seconds),
        settle_ns: seconds_to_ns(file.settle_seconds),
        requires: file.requires.clone(),
        setup,
        key_gap,
        arrivals,
        draws: file.draws,
        scripts,
    })
}

fn script(key: &ScriptKey, think_default: &Think, shell: &Ending, origin: &str) -> Result<Script, Error> {
    let place = Place {
        origin,
        at: format!("script {:?}", key.name),
    };
    if key.name.trim().is_empty() {
        return Err(place.wrong("name", "is empty", "give the script a name"));
    }
    if !(key.share > 0.0 && key.share.is_finite()) {
        return Err(place.wrong(
            "share",
            format!("{} is not above 0", key.share),
            "for example share = 1.0",
        ));
    }
    if key.command.is_empty() {
        return Err(place.wrong(
            "command",
            "there is none",
            "add [[script.command]] with class and input",
        ));
    }
    let sequence = key.order == OrderKey::Sequence;
    let mut commands = Vec::new();
    for (number, command_key) in key.command.iter().enumerate() {
        let place = Place {
            origin,
            at: format!("script {:?}, command {}", key.name, number + 1),
        };
        commands.push(command(command_key, think_default, shell, sequence, &place)?);
    }
    if !sequence && commands.iter().all(|command| command.weight == 0.0) {
        return Err(place.wrong(
            "weight",
            "every command has weight 0",
            "give one a weight above 0",
        ));
    }
    Ok(Script {
        name: key.name.as_str().into(),
        share: key.share,
        sequence,
        commands,
    })
}

fn command(
    key: &CommandKey,
    think_default: &Think,
    shell: &Ending,
    sequence: bool,
    place: &Place<'_>,
) -> Result<Command, Error> {
    if key.class.trim().is_empty() {
        return Err(place.wrong(
            "class",
            "is empty",
            "name the class of the command, for example class = \"edit\"",
        ));
    }
    if !(key.weight >= 0.0 && key.weight.is_finite()) {
        return Err(place.wrong(
            "weight",
            format!("{} is negative", key.weight),
            "for example weight = 1",
        ));
    }
    if key.prompt.is_some() && !sequence {
        let what = "a command with a prompt of its own needs order = \"sequence\": the next line goes to what it started";
        return Err(place.wrong(
            "prompt",
            what,
            "set order = \"sequence\" in the script, or remove the key",
        ));
    }
    let expect = key.expect.as_deref().map(|text| {
        Regex::new(text).map_err(|error| {
            place.wrong(
                "expect",
                error,
                "write a regular expression, for example expect = \"ok\"",
            )
        })
    });
    Ok(Command {
        class: key.class.as_str().into(),
        input: template(key.input.as_deref().unwrap_or_default(), "input", place)?,
        request: request(key, matches!(shell, Ending::Message), place)?,
        weight: key.weight,
        expect: expect.transpose()?,
        think: key
            .think
            .as_ref()
            .map_or(Ok(think_default.clone()), |key| think(key, place))?,
        ending: key
            .prompt
            .as_ref()
            .map_or(Ok(shell.clone()), |key| ending(key, place))?,
    })
}

pub(super) fn template(text: &str, key: &str, place: &Place<'_>) -> Result<Template, Error> {
    if text.contains(['\n', '\r', '\0']) {
        let hint = "write one line; give further lines as further commands";
        return Err(place.wrong(key, "holds a line end or a NUL", hint));
    }
    Template::parse(text).map_err(|what| {
        place.wrong(
            key,
            what,
            "known are {user}, {number}, {random:LOW:HIGH} and {pick:ONE|TWO}",
        )
    })
}

pub(super) fn ending(key: &PromptKey, place: &Place<'_>) -> Result<Ending, Error> {
    let PromptKey::Pattern(key) = key else {
        return Ok(Ending::Marks);
    };
    let hint = "write a regular expression of the prompt's end, for example pattern = '\\$ $'";
    // `$` must mean the end of what has come so far, whatever flags the pattern sets for itself.
    let regex = Regex::new(&format!("(?:{})\\z", key.pattern))
        .map_err(|error| place.wrong("prompt.pattern", error, hint))?;
    if regex.is_match(b"") {
        return Err(place.wrong(
            "prompt.pattern",
            "matches the empty text, so every answer would be over at once",
            hint,
        ));
    }
    Ok(Ending::Pattern(Arc::new(regex)))
}
