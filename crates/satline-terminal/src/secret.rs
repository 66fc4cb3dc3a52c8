//! Passwords: read from a file or a variable when the run begins, never written anywhere but on the line.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use satline_program::Error;

/// Where a password is; never the password itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// One line for all users, or line n for user n. A relative path is beside the workload file.
    File(PathBuf),
    Variable(String),
}

/// The users' passwords.
#[derive(Clone)]
pub struct Passwords(Vec<String>);

/// Shows nothing.
impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passwords(…)")
    }
}

impl Passwords {
    /// Reads them for `users` users; errors name the place and never what it holds.
    pub fn read(source: &Source, origin: &str, users: usize) -> Result<Self, Error> {
        let wrong = |what: String, hint: &str| {
            Err(Error::input(format!("{origin}: key line.password: {what}"), hint))
        };
        let lines = match source {
            Source::Variable(name) => match std::env::var(name) {
                Ok(value) if !value.is_empty() => vec![value],
                _ => {
                    let what = format!("the variable {name} is not set");
                    return wrong(what, "set it where satline-terminal is started");
                }
            },
            Source::File(file) => {
                let path = Path::new(origin).parent().unwrap_or(Path::new(".")).join(file);
                let shown = path.display();
                let read = fs::metadata(&path).and_then(|facts| Ok((facts.mode(), fs::read(&path)?)));
                let (mode, bytes) = match read {
                    Ok(read) => read,
                    Err(error) => {
                        return wrong(
                            format!("cannot read {shown}: {error}"),
                            "name a file with the password",
                        );
                    }
                };
                if mode & 0o077 != 0 {
                    return wrong(format!("others may read {shown}"), "take their rights: chmod 600");
                }
                let Ok(text) = String::from_utf8(bytes) else {
                    return wrong(
                        format!("{shown} is no UTF-8 text"),
                        "write one password in each line",
                    );
                };
                text.lines().map(str::to_owned).collect()
            }
        };
        if lines.is_empty() || (lines.len() > 1 && lines.len() < users) || lines.iter().any(String::is_empty)
        {
            let what = format!("{} lines for {users} users, or an empty one", lines.len());
            return wrong(what, "write one line for all users, or one for each");
        }
        if lines.iter().any(|line| line.contains(char::is_control)) {
            return wrong("holds a control character".into(), "remove it");
        }
        Ok(Self(lines))
    }

    /// That of a user, from 1.
    pub fn of(&self, number: usize) -> &str {
        if self.0.len() == 1 {
            &self.0[0]
        } else {
            &self.0[number - 1]
        }
    }

    /// Text that somebody else wrote, without any password in it.
    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, password| {
            text.replace(password.as_str(), "…")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_for_all_or_one_for_each() {
        let place = tempfile::tempdir().unwrap();
        let origin = place.path().join("w.toml").display().to_string();
        let path = place.path().join("passwords");
        let source = Source::File("passwords".into());
        let read = |text: &str, mode: u32, users| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Passwords::read(&source, &origin, users)
        };
        assert_eq!(read("geheim\n", 0o600, 9).unwrap().of(9), "geheim");
        let each = read("one\ntwo\n", 0o400, 2).unwrap();
        assert_eq!((each.of(1), each.of(2)), ("one", "two"));
        assert_eq!(each.redact("it said two, twice"), "it said …, twice");
        assert!(!format!("{each:?}").contains("one"));
        for (text, mode, users) in [
            ("geheim\n", 0o644, 1),
            ("", 0o600, 1),
            ("geheim\nb", 0o600, 3),
            ("a\n\n", 0o600, 2),
        ] {
            let error = read(text, mode, users).unwrap_err();
            assert!(error.exit_code() == 2 && !error.hint.is_empty());
            assert!(!format!("{error:?}").contains("geheim"), "{error:?}");
        }
    }
}
