//! Input lines with places that are filled anew each time: `{user}`, `{number}`, `{random:1:100}`, `{pick:a|b}`.
//!
//! Every other brace is the shell's own and stays: `${HOME}`, `{1..5}`, `awk '{print $1}'`.

use std::fmt::{Display, Write};

use crate::draws::Filling;

/// Room for most lines and their ends, so that they need not move while they grow.
const LINE_BYTES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    User,
    Number,
    Random(i64, i64),
    Pick(Vec<String>),
}

/// A parsed input line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// The user for whom a line is made.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub user: &'a str,
    pub number: usize,
}

impl Template {
    /// Parses a line; the error says what is wrong with which place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            literal.push_str(before);
            let place = from.find('}').map(|close| (&from[1..close], &from[close + 1..]));
            match place.map(|(inside, after)| (Part::parse(inside), after)) {
                Some((Some(part), after)) => {
                    if !literal.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(part?);
                    rest = after;
                }
                _ => {
                    literal.push('{');
                    rest = &from[1..];
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// The line for one user, one time.
    pub fn fill(&self, subject: Subject<'_>, random: &mut Filling<'_>) -> String {
        let mut line = String::with_capacity(LINE_BYTES);
        for part in &self.parts {
            match part {
                Part::Text(text) => line.push_str(text),
                Part::User => line.push_str(subject.user),
                Part::Number => append(&mut line, subject.number),
                Part::Random(low, high) => append(&mut line, random.between(*low, *high)),
                Part::Pick(choices) => {
                    line.push_str(&choices[random.between(0, choices.len() as i64 - 1) as usize]);
                }
            }
        }
        line
    }
}

fn append(line: &mut String, value: impl Display) {
    // A string takes everything.
    let _ = write!(line, "{value}");
}

impl Part {
    /// What stands between two braces; None if it is none of ours.
    fn parse(inside: &str) -> Option<Result<Self, String>> {
        if inside == "user" {
            return Some(Ok(Self::User));
        }
        if inside == "number" {
            return Some(Ok(Self::Number));
        }
        if let Some(range) = inside.strip_prefix("random:") {
            let bounds = range
                .split_once(':')
                .and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
            return Some(match bounds {
                Some((low, high)) if low <= high => Ok(Self::Random(low, high)),
                _ => Err(format!("{{{inside}}}: random needs two whole numbers, low:high")),
            });
        }
        let choices: Vec<String> = inside
            .strip_prefix("pick:")?
            .split('|')
            .map(String::from)
            .collect();
        if choices.iter().all(String::is_empty) {
            return Some(Err(format!("{{{inside}}}: pick needs choices, separated by |")));
        }
        Some(Ok(Self::Pick(choices)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn fill(text: &str) -> String {
        let subject = Subject {
            user: "user-007",
            number: 7,
        };
        Template::parse(text).unwrap().fill(
            subject,
            &mut Filling::Independent(&mut stream(1, 7, Purpose::Input)),
        )
    }

    #[test]
    fn our_places_are_filled_and_the_shells_braces_stay() {
        assert_eq!(fill("echo {user} {number}"), "echo user-007 7");
        let untouched = "awk '{print $1}' ${HOME} {1..5} {a,b} {{x} {user";
        assert_eq!(fill(untouched), untouched);
        assert_eq!(fill("{{user}}"), "{user-007}");
        assert_eq!(fill("{random:5:5}{pick:é}"), "5é");
        assert_eq!(fill(""), "");
    }

    #[test]
    fn draws_stay_in_range_and_reach_both_ends() {
        let template = Template::parse("{random:-1:1}").unwrap();
        let mut random = stream(3, 1, Purpose::Input);
        let subject = Subject { user: "u", number: 1 };
        let mut seen: Vec<String> = (0..100)
            .map(|_| template.fill(subject, &mut Filling::Independent(&mut random)))
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ["-1", "0", "1"]);
    }

    #[test]
    fn malformed_places_are_named() {
        for wrong in ["{random:9:1}", "{random:1}", "{random:a:b}", "{pick:}"] {
            assert!(Template::parse(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
