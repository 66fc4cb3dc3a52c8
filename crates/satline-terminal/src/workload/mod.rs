//! The workload file: what the pseudo-users type, in TOML that a user copies and changes.

mod check;
mod line;
mod request;
mod template;
mod times;

use std::collections::BTreeMap;
use std::path::Path;

use satline_program::Error;
use serde::Deserialize;

pub use check::{Command, Ending, Script, Workload};
pub use line::{Line, LineKey, LogOn};
pub use request::Request;
pub use template::{Subject, Template};
pub use times::{Arrivals, ArrivalsKey, Think};

use crate::draws::DrawsKey;
use crate::lines::Target;

/// The file as written. See `docs/reference` and the shipped workloads for the meaning of each key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default = "default_shell")]
    pub shell: Vec<String>,
    #[serde(default)]
    pub line: LineKey,
    #[serde(default)]
    pub prompt: PromptKey,
    #[serde(default = "default_settle")]
    pub settle_seconds: f64,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: f64,
    #[serde(default)]
    pub requires: Vec<String>,
    #[serde(default)]
    pub setup: Vec<String>,
    pub typing: Option<TypingKey>,
    #[serde(default)]
    pub think: ThinkKey,
    pub arrivals: Option<ArrivalsKey>,
    #[serde(default)]
    pub draws: DrawsKey,
    #[serde(default)]
    pub script: Vec<ScriptKey>,
}

/// `prompt = "marks"` or `prompt = { pattern = "…" }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected prompt = \"marks\" or prompt = { pattern = \"regular expression\" }"
)]
pub enum PromptKey {
    Marks(MarksKey),
    Pattern(PatternKey),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarksKey {
    Marks,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternKey {
    pub pattern: String,
}

impl Default for PromptKey {
    fn default() -> Self {
        Self::Marks(MarksKey::Marks)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypingKey {
    /// 0: the line is pasted at once.
    pub characters_per_second: f64,
    /// Standard deviation of the time between keys ÷ its mean; lognormal.
    #[serde(default)]
    pub variation: f64,
}

impl Default for TypingKey {
    fn default() -> Self {
        Self {
            characters_per_second: 8.0,
            variation: 0.3,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinkKey {
    pub distribution: DistributionKey,
    /// Every distribution but the table.
    pub mean_seconds: Option<f64>,
    /// Table only: quantiles at equal steps of probability, the least first, the greatest last; straight lines between.
    pub quantiles_seconds: Option<Vec<f64>>,
    /// Standard deviation; lognormal only.
    pub sd_seconds: Option<f64>,
    /// Shorter draws are taken as this.
    pub minimum_seconds: Option<f64>,
    /// Longer draws are taken as this.
    pub maximum_seconds: Option<f64>,
}

impl Default for ThinkKey {
    fn default() -> Self {
        Self {
            distribution: DistributionKey::Exponential,
            mean_seconds: Some(2.0),
            quantiles_seconds: None,
            sd_seconds: None,
            minimum_seconds: Some(0.1),
            maximum_seconds: Some(20.0),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DistributionKey {
    Fixed,
    Exponential,
    Lognormal,
    Table,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptKey {
    pub name: String,
    #[serde(default = "one")]
    pub share: f64,
    #[serde(default)]
    pub order: OrderKey,
    #[serde(default)]
    pub command: Vec<CommandKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderKey {
    #[default]
    Weighted,
    Sequence,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandKey {
    pub class: String,
    /// What is typed; every line but HTTP.
    pub input: Option<String>,
    /// Method and path; HTTP only, as the next three.
    pub request: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub body: Option<String>,
    /// Status of the right answer. Default: any below 400.
    pub status: Option<u16>,
    #[serde(default = "one")]
    pub weight: f64,
    pub expect: Option<String>,
    pub think: Option<ThinkKey>,
    pub prompt: Option<PromptKey>,
}

fn default_shell() -> Vec<String> {
    ["bash", "--noprofile", "--norc", "-i"].map(String::from).to_vec()
}

fn default_settle() -> f64 {
    0.02
}

fn default_timeout() -> f64 {
    60.0
}

fn one() -> f64 {
    1.0
}

/// Reads and checks a workload file; `target` goes before its key line.to.
///
/// Errors name the file and the line or key; all have exit code 2.
pub fn load(path: &Path, target: Option<&Target>) -> Result<Workload, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::input(
            format!("{}: cannot read the workload file: {error}", path.display()),
            "give the path of a workload file, for example workloads/mixed-interactive.toml",
        )
    })?;
    parse(&text, &path.display().to_string(), target)
}

/// Parses and checks a workload; `origin` names it in errors.
pub fn parse(text: &str, origin: &str, target: Option<&Target>) -> Result<Workload, Error> {
    let file: WorkloadFile = toml::from_str(text).map_err(|error| {
        Error::input(
            format!("{origin}: {}", error.to_string().trim_end()),
            "correct the line; the shipped workloads show every key",
        )
    })?;
    check::check(&file, origin, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "small"
timeout_seconds = 5
setup = ["cd \"$SATLINE_WORK\""]
typing = { characters_per_second = 0 }
think = { distribution = "lognormal", mean_seconds = 2.0, sd_seconds = 1.0 }
[[script]]
name = "one"
order = "sequence"
[[script.command]]
class = "repl"
input = "python3 -i"
prompt = { pattern = ">>> $" }
[[script.command]]
class = "leave"
input = "exit()"
expect = "^$"
[[script]]
name = "two"
share = 3
[[script.command]]
class = "echo"
input = "echo {user} {random:1:3} {pick:a|b} ${HOME}"
weight = 2
"#;

    fn error_of(text: &str) -> String {
        let error = parse(text, "w.toml", None).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(!error.hint.is_empty(), "no remedy: {error}");
        assert!(error.message.starts_with("w.toml: "), "{error}");
        error.message
    }

    #[test]
    fn a_good_file_is_read_whole() {
        let workload = parse(GOOD, "w.toml", None).unwrap();
        assert_eq!(&*workload.name, "small");
        assert_eq!(workload.timeout_ns, 5_000_000_000);
        assert_eq!(workload.scripts.len(), 2);
        assert!(workload.scripts[0].sequence && !workload.scripts[1].sequence);
        assert!(matches!(
            workload.scripts[0].commands[0].ending,
            Ending::Pattern(_)
        ));
        assert!(matches!(workload.scripts[0].commands[1].ending, Ending::Marks));
        assert!(workload.scripts[0].commands[1].expect.is_some());
        assert!(workload.uses_patterns());
        assert_eq!(workload.shell[0], "bash");
    }

    #[test]
    fn users_are_dealt_to_scripts_in_proportion() {
        let workload = parse(GOOD, "w.toml", None).unwrap();
        let dealt = workload.deal(8);
        assert_eq!(dealt.iter().filter(|&&script| script == 0).count(), 2);
        assert_eq!(dealt.iter().filter(|&&script| script == 1).count(), 6);
        assert_eq!(workload.deal(3), dealt[..3]);
    }

    #[test]
    fn unknown_keys_are_named_with_their_line() {
        let message = error_of(&GOOD.replace("timeout_seconds", "timeout_secs"));
        assert!(
            message.contains("timeout_secs") && message.contains("line 3"),
            "{message}"
        );
        let message = error_of(&GOOD.replace("weight = 2", "wieght = 2"));
        assert!(message.contains("wieght"), "{message}");
    }

    #[test]
    fn every_wrong_value_names_its_key() {
        let cases = [
            ("timeout_seconds = 5", "timeout_seconds = 0", "timeout_seconds"),
            ("share = 3", "share = -1", "share"),
            ("weight = 2", "weight = -2", "weight"),
            ("weight = 2", "weight = 0", "weight"),
            ("expect = \"^$\"", "expect = \"(\"", "expect"),
            ("pattern = \">>> $\"", "pattern = \"[\"", "pattern"),
            ("pattern = \">>> $\"", "pattern = \"x*\"", "pattern"),
            ("sd_seconds = 1.0", "sd_seconds = -1.0", "sd_seconds"),
            ("mean_seconds = 2.0", "mean_seconds = -2.0", "mean_seconds"),
            (
                "mean_seconds = 2.0",
                "mean_seconds = 2.0, minimum_seconds = 9.0, maximum_seconds = 1.0",
                "minimum_seconds",
            ),
            (
                "characters_per_second = 0",
                "characters_per_second = -3",
                "characters_per_second",
            ),
            ("{random:1:3}", "{random:3:1}", "random"),
            ("{random:1:3}", "{random:x}", "random"),
            ("{pick:a|b}", "{pick:}", "pick"),
            ("input = \"exit()\"", "input = \"exit()\\nmore\"", "input"),
            ("class = \"leave\"", "class = \"\"", "class"),
            ("name = \"two\"", "name = \"one\"", "one"),
            ("setup = [", "setup = [\"a\\nb\", ", "setup"),
            ("timeout_seconds = 5", "shell = []", "shell"),
            ("timeout_seconds = 5", "shell = [\"zsh\", \"-i\"]", "prompt"),
            ("timeout_seconds = 5", "prompt = \"mark\"", "prompt"),
            ("order = \"sequence\"", "order = \"weighted\"", "order"),
            ("timeout_seconds = 5", "settle_seconds = -1", "settle_seconds"),
            ("timeout_seconds = 5", "line = { to = \"tcp:host\" }", "line.to"),
            ("timeout_seconds = 5", "line = { to = \"tcp:host:7\" }", "prompt"),
            (
                "timeout_seconds = 5",
                "line = { password = \"geheim\" }",
                "line.password",
            ),
            (
                "timeout_seconds = 5",
                "line = { retry_seconds = 0 }",
                "retry_seconds",
            ),
            (
                "timeout_seconds = 5",
                "line = { logon = [{ wait = \"x\" }] }",
                "send",
            ),
            (
                "timeout_seconds = 5",
                "line = { logon = [{ wait = \"x\", send_password = true }] }",
                "send",
            ),
            (
                "timeout_seconds = 5",
                "arrivals = { per_second = 0.0 }",
                "arrivals.per_second",
            ),
            ("timeout_seconds = 5", "arrivals = {}", "arrivals"),
            (
                "characters_per_second = 0 }",
                "characters_per_second = 3 }\narrivals = { per_second = 1 }",
                "typing",
            ),
            ("\"lognormal\"", "\"table\"", "think"),
            (
                "\"lognormal\", mean_seconds = 2.0, sd_seconds = 1.0",
                "\"table\", quantiles_seconds = [2.0, 1.0]",
                "quantiles_seconds",
            ),
        ];
        for (from, to, key) in cases {
            let changed = GOOD.replacen(from, to, 1);
            assert_ne!(changed, GOOD, "{from}");
            let message = error_of(&changed);
            assert!(message.contains(key), "{to}: {message}");
            assert!(!message.contains("geheim"), "{message}");
        }
    }

    #[test]
    fn a_file_without_scripts_or_commands_is_refused() {
        assert!(error_of("name = \"x\"").contains("script"));
        assert!(error_of("name = \"x\"\n[[script]]\nname = \"s\"").contains("command"));
    }
}
