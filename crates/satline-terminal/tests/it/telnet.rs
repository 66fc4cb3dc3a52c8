//! Log-on over telnet: negotiation, echo, and a password that nobody finds again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::server::{Connection, Server};
use crate::support::{Place, number, stderr, workload};

const PASSWORD: &str = "Xyzzy-Plugh-4711";

/// A host that logs users on by telnet. It echoes all but passwords, and repeats a wrong password loudly.
fn host(password: &'static str) -> Server {
    Server::new(move |connection| {
        // WILL ECHO, WILL SUPPRESS-GO-AHEAD, DO TERMINAL-TYPE, DO NAWS, DO NEW-ENVIRON
        connection.say(b"\xff\xfb\x01\xff\xfb\x03\xff\xfd\x18\xff\xfd\x1f\xff\xfd\x27")?;
        loop {
            connection.say(b"\r\ntest host\r\nlogin: ")?;
            let Some(name) = line(connection)? else {
                return Ok(());
            };
            echo(connection, &name)?;
            connection.say(b"Password: ")?;
            let Some(word) = line(connection)? else {
                return Ok(());
            };
            if word == password && name.starts_with("load") {
                break;
            }
            connection.say(format!("\r\nno: {word} is wrong\r\n").as_bytes())?;
        }
        connection.say(b"\r\nLast log-on today\r\nhost> ")?;
        while let Some(typed) = line(connection)? {
            echo(connection, &typed)?;
            std::thread::sleep(std::time::Duration::from_millis(30));
            // A doubled IAC, a go-ahead in the middle of a word, a carriage return with its NUL.
            connection.say(b"an\xff\xf9swer \xff\xff\r\0")?;
            connection.say(format!("\r\n{typed}\r\nhost> ").as_bytes())?;
        }
        Ok(())
    })
}

/// The next line without the telnet commands in it.
fn line(connection: &mut Connection) -> std::io::Result<Option<String>> {
    let line = connection.line(b"\r\0")?;
    // Answers to the negotiation precede the first line; its text is the tail.
    Ok(line.map(|line| {
        let start = line
            .rfind(['\u{fffd}', '\u{1f}', '\u{27}', '\0'])
            .map_or(0, |at| at + line[at..].chars().next().unwrap().len_utf8());
        line[start..]
            .trim_start_matches(|c: char| c.is_control())
            .to_owned()
    }))
}

fn echo(connection: &mut Connection, typed: &str) -> std::io::Result<()> {
    connection.say(format!("{typed}\r\n").as_bytes())
}

fn log_on(port: u16, password: &str) -> String {
    workload(&format!(
        r#"
prompt = {{ pattern = 'host> ' }}
[line]
to = "telnet:127.0.0.1:{port}"
retry_seconds = 0.05
retries = 1
password = {password}
[[line.logon]]
wait = 'login: '
send = "load{{number}}"
[[line.logon]]
wait = 'Password: '
send_password = true
[[script]]
name = "talk"
[[script.command]]
class = "say"
input = "answer me {{number}}"
expect = '^answer (?-u:\xff)\nanswer me [12]\n'
"#
    ))
}

fn keep_password(place: &Place) {
    let path = place.path("passwords");
    std::fs::write(&path, format!("{PASSWORD}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Every file of a directory, read whole.
fn files(directory: &Path, found: &mut Vec<(std::path::PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else if entry.file_name() != "passwords" {
            found.push((entry.path(), std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn assert_kept_secret(place: &Place, output: &std::process::Output) {
    let mut outputs = vec![
        ("standard output".into(), output.stdout.clone()),
        ("standard error".into(), output.stderr.clone()),
    ];
    files(&place.path("."), &mut outputs);
    assert!(outputs.len() > 5);
    for (path, bytes) in outputs {
        // Segments are compressed: the rows are searched besides.
        let found = bytes
            .windows(PASSWORD.len())
            .any(|part| part == PASSWORD.as_bytes());
        assert!(!found, "the password is in {}", path.display());
    }
    for table in ["transaction", "event"] {
        for row in place.rows(table) {
            assert!(
                row.values()
                    .all(|cell| !cell.contains(PASSWORD) && !cell.contains("Xyzzy")),
                "{row:?}"
            );
        }
    }
}

#[test]
fn users_log_on_with_a_password_and_echo_is_no_reaction() {
    let server = host(PASSWORD);
    let place = Place::new(&log_on(server.port, "{ file = \"passwords\" }"));
    keep_password(&place);
    let words = "--steps 2 --ramp 0s --warmup 0s --window 2s --progress json";
    let output = place.run_until(words, || place.outcomes("say").len() > 4);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.rows("transaction");
    let log_ons: Vec<_> = rows.iter().filter(|row| row["class"] == "logon").collect();
    assert_eq!(log_ons.len(), 6, "connecting, name, password: {log_ons:?}");
    assert!(log_ons.iter().all(|row| row["outcome"] == "ok"));
    let unknown = log_ons
        .iter()
        .filter(|row| !row.contains_key("input_characters"))
        .count();
    assert_eq!(unknown, 2, "how long the password is, is not told");
    let said: Vec<_> = rows
        .iter()
        .filter(|row| row["class"] == "say" && row["outcome"] != "cut")
        .collect();
    assert!(said.len() > 4, "{rows:?}");
    for row in said {
        assert_eq!(row["outcome"], "ok", "{row:?}");
        // The echo comes at once; the answer, which begins as the line does, never before 30 ms are over.
        assert!(number(row, "reaction_us") >= 30_000, "{row:?}");
    }
    assert_kept_secret(&place, &output);
}

#[test]
fn a_wrong_password_is_refused_and_told_nowhere() {
    let server = host("another");
    let place = Place::new(&log_on(server.port, "{ variable = \"TEST_PASSWORD\" }"));
    let output = place
        .command("--steps 1 --ramp 0s --warmup 0s --window 600s")
        .env("TEST_PASSWORD", PASSWORD)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("asked for the log-on anew"),
        "{}",
        stderr(&output)
    );
    let outcomes: Vec<_> = place
        .rows("transaction")
        .iter()
        .map(|row| row["outcome"].clone())
        .collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| *outcome == "refused").count(),
        2,
        "{outcomes:?}"
    );
    assert_kept_secret(&place, &output);
}

#[test]
fn a_password_in_the_wrong_place_is_refused_and_not_repeated() {
    let literal = Place::new(&log_on(1, &format!("\"{PASSWORD}\"")));
    let unset = Place::new(&log_on(1, "{ variable = \"TEST_NO_SUCH\" }"));
    let open = Place::new(&log_on(1, "{ file = \"passwords\" }"));
    std::fs::write(open.path("passwords"), PASSWORD).unwrap();
    for (place, word) in [
        (literal, "line.password"),
        (unset, "TEST_NO_SUCH"),
        (open, "chmod 600"),
    ] {
        let output = place.run("--steps 1");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(word) && !text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn a_program_on_a_pty_may_ask_for_a_log_on_too() {
    let text = log_on(1, "{ variable = \"TEST_PASSWORD\" }")
        .replace("to = \"telnet:127.0.0.1:1\"", "to = \"pty\"")
        .replace("prompt = {", "shell = [\"./host\"]\nprompt = {");
    let place = Place::new("");
    let host = place.path("host");
    let script = "#!/bin/sh\nprintf 'login: '; read name; stty -echo; printf 'Password: '; read word; stty echo\n\
        [ \"$word\" = Xyzzy-Plugh-4711 ] || exit 1\n\
        [ -z \"$TEST_PASSWORD\" ] || exit 1\nprintf '\\nhost> '\n\
        while read typed; do printf 'answer \\377\\n%s\\nhost> ' \"$typed\"; done\n";
    std::fs::write(&host, script).unwrap();
    std::fs::set_permissions(&host, std::fs::Permissions::from_mode(0o700)).unwrap();
    let text = text.replace("./host", &host.display().to_string());
    std::fs::write(place.path("workload.toml"), text).unwrap();
    let mut command = place.command("--steps 1 --ramp 0s --warmup 0s --window 1s");
    command.env("TEST_PASSWORD", PASSWORD);
    let output = place.until(command, || !place.outcomes("say").is_empty());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.rows("transaction");
    assert_eq!(rows.iter().filter(|row| row["class"] == "logon").count(), 2);
    assert!(
        rows.iter()
            .any(|row| row["class"] == "say" && row["outcome"] == "ok"),
        "{rows:?}"
    );
    std::fs::remove_file(&host).unwrap();
    assert_kept_secret(&place, &output);
}
