//! The environment of the users' shells.

use std::path::Path;

use crate::common::Common;
use crate::lines::pty::{COLUMNS, ROWS};
use crate::workload::Ending;

/// The emulator's first line in a shell with marks: programs do not inherit the prompt, `!` is plain text, and a
/// pasted line is no different from a typed one.
pub const PREPARE: &str = "export -n PS0 PS1; set +H; bind 'set enable-bracketed-paste off' 2>/dev/null";

/// Variables that would change how the shell starts or prompts.
const REMOVED: [&str; 8] = [
    "PROMPT_COMMAND",
    "BASH_ENV",
    "ENV",
    "COLUMNS",
    "LINES",
    "PS1",
    "PS0",
    "PS2",
];

/// The whole environment of a user's shell: the emulator's own, then ours, then that of the options.
pub fn of_user(c: &Common, name: &str, nonce: &str, work: &Path) -> Vec<(String, String)> {
    let work = work.display().to_string();
    let marks = matches!(c.workload.ending, Ending::Marks);
    let mut variables: Vec<(String, String)> = c
        .environment
        .iter()
        .filter(|(key, _)| !REMOVED.contains(&key.as_str()))
        .cloned()
        .collect();
    let mut set = |key: &str, value: String| {
        variables.retain(|(have, _)| have != key);
        variables.push((key.to_owned(), value));
    };
    // What programs leave in a home (histories, caches) goes with the user's directory.
    set("HOME", work.clone());
    set("PWD", work.clone());
    set("HISTFILE", "/dev/null".into());
    set("INPUTRC", "/dev/null".into());
    set("TERM", if marks { "xterm" } else { "dumb" }.into());
    set("SATLINE_USER", name.into());
    set("SATLINE_WORK", work);
    if marks {
        let (prompt, begin) = marks_of(nonce);
        set("PS1", prompt);
        set("PS0", begin);
    }
    for (key, value) in &c.extra {
        set(key, value.clone());
    }
    variables
}

/// What `ssh` runs on the other host for one user, in the words of a POSIX shell; None: the account's own shell.
///
/// As on a terminal of this host the shell gets a directory of its own, which goes with it, and the same variables.
pub fn remote_command(c: &Common, name: &str, nonce: &str) -> Option<String> {
    const BEGIN: &str = "d=$(mktemp -d \"${TMPDIR:-/tmp}/satline-XXXXXXXX\") && cd \"$d\" || exit 125; \
        trap 'rm -rf \"$d\"' EXIT; trap 'exit 129' HUP TERM; \
        unset PROMPT_COMMAND BASH_ENV ENV COLUMNS LINES PS2; \
        export HOME=\"$d\" PWD SATLINE_WORK=\"$d\" HISTFILE=/dev/null INPUTRC=/dev/null";
    if c.workload.shell.is_empty() {
        return None;
    }
    let mut script = format!("{BEGIN}; stty sane cols {COLUMNS} rows {ROWS} 2>/dev/null; \"$@\"");
    // The trap must come after the shell, not be given up for it.
    script.push_str("; exit $?");
    let mut words: Vec<String> = ["exec", "sh", "-c"].map(String::from).to_vec();
    words.extend([quote(&script), "sh".into(), "env".into()]);
    let mut set = |key: &str, value: &str| words.push(quote(&format!("{key}={value}")));
    set("SATLINE_USER", name);
    if matches!(c.workload.ending, Ending::Marks) {
        let (prompt, begin) = marks_of(nonce);
        set("PS1", &prompt);
        set("PS0", &begin);
    }
    for (key, value) in &c.extra {
        set(key, value);
    }
    words.extend(c.workload.shell.iter().map(|word| quote(word)));
    Some(words.join(" "))
}

/// One word for a POSIX shell.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// PS1 and PS0 with the OSC 133 marks of one user.
fn marks_of(nonce: &str) -> (String, String) {
    let mark = |what: &str| format!("\\e]133;{what};aid={nonce}\\a");
    let prompt = format!("\\[{}{}\\]$ \\[{}\\]", mark("D;$?"), mark("A"), mark("B"));
    (prompt, mark("C"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_survive_a_shell() {
        for word in ["", "a b", "it's", "$HOME `x` \\e]133;D;$?\\a", "'", "\"\\n\""] {
            let script = format!("printf %s {}", super::quote(word));
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(script)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
