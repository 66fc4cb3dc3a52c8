//! The file of rules: TOML → [`Rules`], with errors that name file, line and key.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Key, Piece, Rule, Rules};

/// What is wrong in a file of rules, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}{message}\nhint: {hint}")]
pub struct FileError {
    pub file: String,
    pub place: String,
    pub message: String,
    pub hint: String,
}

/// A message and a hint at a place in the text.
type Wrong = (Range<usize>, String, String);

impl Rules {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or says something that is no rule.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text),
            Err(error) => Err(FileError {
                file,
                place: String::new(),
                message: error.to_string(),
                hint: "name a file of rules that can be read".into(),
            }),
        }
    }

    /// Reads a text, which errors call `file`.
    ///
    /// # Errors
    /// As [`Rules::read`].
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let told = |(at, message, hint): Wrong| FileError {
            file: file.to_owned(),
            place: format!(
                "line {}: ",
                text[..at.start.min(text.len())].matches('\n').count() + 1
            ),
            message,
            hint,
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().unwrap_or(0..0);
            told((
                at,
                error.message().to_owned(),
                "write it as TOML: https://toml.io".into(),
            ))
        })?;
        let rules = rules(table.get_ref()).map_err(told)?;
        if rules.is_empty() {
            let hint = "write a [[rule]], such as: [[rule]] / uid = \"1000-\" / user = \"{login}\"";
            return Err(told((0..0, "there are no rules in it".into(), hint.into())));
        }
        Ok(Self {
            text: text.to_owned(),
            rules,
        })
    }
}

fn rules(table: &DeTable) -> Result<Vec<Rule>, Wrong> {
    let mut rules = Vec::new();
    for (key, value) in table {
        if key.get_ref() != "rule" {
            let message = format!("{}: there is no such key here", key.get_ref());
            return Err((key.span(), message, "all that the file has is [[rule]]".into()));
        }
        let DeValue::Array(list) = value.get_ref() else {
            return Err((
                key.span(),
                "rule: not a list of rules".into(),
                "write [[rule]]".into(),
            ));
        };
        for one in list.iter() {
            let DeValue::Table(table) = one.get_ref() else {
                return Err((one.span(), "rule: not a rule".into(), "write [[rule]]".into()));
            };
            rules.push(rule(table, one.span())?);
        }
    }
    Ok(rules)
}

fn rule(table: &DeTable, place: Range<usize>) -> Result<Rule, Wrong> {
    let mut rule = Rule {
        uids: Vec::new(),
        conditions: Vec::new(),
        name: None,
    };
    let (mut user, mut exclude) = (None, None);
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        match name {
            "user" => user = Some(value),
            "exclude" => {
                if !matches!(value.get_ref(), DeValue::Boolean(true)) {
                    let message = "rule.exclude: only true means anything".to_owned();
                    return Err((
                        value.span(),
                        message,
                        "write exclude = true, or take it out".into(),
                    ));
                }
                exclude = Some(key.span());
            }
            "uid" => rule.uids = uids(value)?,
            _ => {
                let known = Key::ALL.iter().find(|(word, _)| *word == name);
                let Some((_, known)) = known else {
                    let message = format!("rule.{name}: there is no such key");
                    return Err((
                        key.span(),
                        message,
                        format!("write one of {}", words("user, exclude, ")),
                    ));
                };
                rule.conditions.push((*known, patterns(name, value)?));
            }
        }
    }
    match (user, exclude) {
        (Some(value), None) => rule.name = Some(template(value, &rule)?),
        (None, Some(_)) => {}
        (Some(_), Some(at)) => {
            let message = "rule.exclude: the rule gives a user as well".to_owned();
            return Err((at, message, "keep one of the two".into()));
        }
        (None, None) => {
            let hint = "write user = \"{login}\", or exclude = true".to_owned();
            return Err((place, "rule: it says no user".into(), hint));
        }
    }
    Ok(rule)
}

fn words(before: &str) -> String {
    let names: Vec<_> = Key::ALL.iter().map(|(name, _)| *name).collect();
    format!("{before}{}", names.join(", "))
}

/// A value, or each of a list.
fn each<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Vec<&'a Spanned<DeValue<'i>>> {
    match value.get_ref() {
        DeValue::Array(list) => list.iter().collect(),
        _ => vec![value],
    }
}

fn uids(value: &Spanned<DeValue>) -> Result<Vec<(u32, u32)>, Wrong> {
    let wrong = |at: &Spanned<DeValue>| {
        let hint = "write a number, or from-to: uid = \"1000-59999\", \"1000-\", [0, 33]".to_owned();
        (at.span(), "rule.uid: not user numbers".to_owned(), hint)
    };
    let mut ranges = Vec::new();
    for one in each(value) {
        let text = match one.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::String(text) => text.trim().to_owned(),
            DeValue::Boolean(true) => "0-".to_owned(),
            _ => return Err(wrong(one)),
        };
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(one));
        let range = match text.split_once('-') {
            None => (number(&text)?, number(&text)?),
            Some((low, "")) => (number(low)?, u32::MAX),
            Some((low, high)) => (number(low)?, number(high)?),
        };
        if range.0 > range.1 {
            return Err(wrong(one));
        }
        ranges.push(range);
    }
    match ranges.is_empty() {
        true => Err(wrong(value)),
        false => Ok(ranges),
    }
}

fn patterns(name: &str, value: &Spanned<DeValue>) -> Result<Vec<String>, Wrong> {
    let wrong = |at: &Spanned<DeValue>| {
        let message = format!("rule.{name}: not a pattern");
        let hint =
            format!("write a text, in which * stands for any, a list of them, or {name} = true for any");
        (at.span(), message, hint)
    };
    let mut found = Vec::new();
    for one in each(value) {
        match one.get_ref() {
            DeValue::String(text) if !text.is_empty() => found.push(text.clone().into_owned()),
            DeValue::Integer(number) => found.push(number.to_string()),
            DeValue::Boolean(true) => found.push("*".into()),
            _ => return Err(wrong(one)),
        }
    }
    match found.is_empty() {
        true => Err(wrong(value)),
        false => Ok(found),
    }
}

/// `"{slurm_user}/{slice.1}"`
fn template(value: &Spanned<DeValue>, rule: &Rule) -> Result<Vec<Piece>, Wrong> {
    let wrong = |message: String, hint: String| (value.span(), format!("rule.user: {message}"), hint);
    let DeValue::String(text) = value.get_ref() else {
        let hint = "write user = \"{login}\"".to_owned();
        return Err(wrong("not a text".into(), hint));
    };
    let mut pieces = Vec::new();
    let mut rest: &str = text;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        let Some((field, after)) = after.split_once('}') else {
            let hint = "each { needs its }: \"{login}\"".to_owned();
            return Err(wrong(format!("{{{after}: no }} follows"), hint));
        };
        rest = after;
        let (name, number) = match field.split_once('.') {
            Some((name, number)) => (name, Some(number)),
            None => (field, None),
        };
        let Some((_, key)) = Key::ALL.iter().find(|(word, _)| *word == name) else {
            return Err(wrong(
                format!("{{{field}}}: there is no such field"),
                format!("write one of {}", words("")),
            ));
        };
        let Some(number) = number else {
            pieces.push(Piece::Field(*key));
            continue;
        };
        let asked = rule.conditions.iter().find(|(one, _)| one == key);
        let least = asked.and_then(|(_, all)| all.iter().map(|p| p.matches('*').count()).min());
        match number.parse::<usize>() {
            Ok(number @ 1..) if least.is_some_and(|least| number <= least) => {
                pieces.push(Piece::Part(*key, number - 1));
            }
            _ => {
                return Err(wrong(
                    format!("{{{field}}}: the rule's {name} has no such * in each of its patterns"),
                    format!("{{{name}.1}} is what the first * of {name} stands for: {name} = \"a-*\""),
                ));
            }
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    if pieces.is_empty() {
        return Err(wrong("it is empty".into(), "write user = \"{login}\"".into()));
    }
    Ok(pieces)
}
