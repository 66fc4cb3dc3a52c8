//! The environment of the users' shells.

use std::path::Path;

use crate::common::Common;
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

/// PS1 and PS0 with the OSC 133 marks of one user.
fn marks_of(nonce: &str) -> (String, String) {
    let mark = |what: &str| format!("\\e]133;{what};aid={nonce}\\a");
    let prompt = format!("\\[{}{}\\]$ \\[{}\\]", mark("D;$?"), mark("A"), mark("B"));
    (prompt, mark("C"))
}
