//! `like = "NAME"`: a machine file that gives only what differs from another beside it.

use std::path::PathBuf;

use satline_program::Error;

use super::tree::{self, Node, Place, Value};
use super::{Source, find, text_of};

const KEY: &str = "like";

/// The tree of a machine file, laid over that of the file that it is like, if it is like one.
///
/// # Errors
/// Either is not TOML; there is no such file; or that one is itself like another.
pub fn parse(source: &Source<'_>) -> Result<Node, Error> {
    let mut own = tree::parse(source.text, source.file)?;
    let Value::Table(entries) = &mut own.value else {
        unreachable!("a file is a table");
    };
    let Some(named) = entries.remove(KEY) else {
        return Ok(own);
    };
    let wrong = |why: String, hint: &str| {
        let line = match named.place {
            Place::Line(line) | Place::Like(line) => line,
            Place::Set => 1,
        };
        Err(Error::input(
            format!("{}, line {line}: {KEY} {why}", source.file),
            hint,
        ))
    };
    let Value::Text(name) = &named.value else {
        return wrong(
            format!("is {}", named.value.what()),
            "name a machine file beside it, in quotes",
        );
    };
    let Some(path) = find(&PathBuf::from(format!("{name}.toml")), source.folders) else {
        return wrong(
            format!("is {name:?}, and there is no {name}.toml"),
            "name a machine file beside it",
        );
    };
    let text = text_of(&path, "name a machine file beside it")?;
    let mut base = tree::parse(&text, &path.display().to_string())?;
    mark(&mut base);
    if let Value::Table(entries) = &base.value
        && entries.contains_key(KEY)
    {
        return wrong(
            format!("is {name:?}, which is itself like another"),
            "name the file that has all keys",
        );
    }
    lay_over(&mut base, own);
    Ok(base)
}

/// Tables are laid over key by key; a figure, a list and any plain value take the place of what was there.
fn lay_over(base: &mut Node, over: Node) {
    let is_figure = |node: &Node| matches!(&node.value, Value::Table(keys) if keys.contains_key("value"));
    if is_figure(base) || is_figure(&over) {
        *base = over;
        return;
    }
    match (&mut base.value, over) {
        (
            Value::Table(entries),
            Node {
                value: Value::Table(others),
                place,
            },
        ) => {
            base.place = place;
            for (key, node) in others {
                match entries.get_mut(&key) {
                    Some(there) => lay_over(there, node),
                    None => {
                        entries.insert(key, node);
                    }
                }
            }
        }
        (_, over) => *base = over,
    }
}

fn mark(node: &mut Node) {
    if let Place::Line(line) = node.place {
        node.place = Place::Like(line);
    }
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(mark),
        Value::Table(nodes) => nodes.values_mut().for_each(mark),
        _ => {}
    }
}
