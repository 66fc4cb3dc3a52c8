//! Lines under TLS, against real servers: OpenSSL's certificates, Python's TLS in front of the tests' own servers.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::server::{Connection, Server};
use crate::support::tls::Authority;
use crate::support::{Place, Row, eventually, number, stderr, workload};

const QUICK: &str = "--steps 2 --ramp 0s --warmup 0s --window 1s --drain 1s";
const PASSWORD: &str = "Open-Sesame-471";
const NAMES: &str = "DNS:localhost,IP:127.0.0.1";

/// A line protocol with a log-on; `big N` is answered with N bytes.
fn desk() -> Server {
    Server::new(|connection| {
        connection.say(b"welcome\npassword: ")?;
        if connection.line(b"\n")?.as_deref() != Some(PASSWORD) {
            return Ok(());
        }
        connection.say(b"ready. ")?;
        while let Some(line) = connection.line(b"\n")? {
            let size = line.strip_prefix("big ").map_or(0, |size| size.parse().unwrap());
            connection.say(format!("+ {line}{}\nready. ", "x".repeat(size)).as_bytes())?;
        }
        Ok(())
    })
}

fn tls(port: u16, ca: &Path, more: &str) -> String {
    let scripts = r#"
[[line.logon]]
wait = 'password: '
send_password = true
[[script]]
name = "ask"
[[script.command]]
class = "ask"
input = "ready {number}"
expect = '^\+ ready [12]\n'
[[script.command]]
class = "big"
input = "big 100000"
expect = '^\+ big 100000x+$'
"#;
    let line = format!(
        "prompt = {{ pattern = 'ready\\. ' }}\n[line]\nto = \"tls:localhost:{port}\"\nca = {ca:?}\n\
         retry_seconds = 0.05\npassword = {{ file = \"passwords\" }}\n{more}\n"
    );
    workload(&format!("{line}{scripts}"))
}

fn place(workload: &str) -> Place {
    let place = Place::new(workload);
    let path = place.path("passwords");
    std::fs::write(&path, format!("{PASSWORD}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    place
}

fn web(port: u16, ca: &Path, more: &str, commands: &[&str]) -> String {
    let commands: Vec<String> = commands
        .iter()
        .map(|command| format!("[[script.command]]\n{command}\n"))
        .collect();
    format!(
        "name = \"web\"\ntimeout_seconds = 60\nthink = {{ distribution = \"fixed\", mean_seconds = 0.02 }}\n\
         line = {{ to = \"https://localhost:{port}\", ca = {ca:?}, retry_seconds = 0.05{more} }}\n\
         [[script]]\nname = \"s\"\norder = \"sequence\"\n{}",
        commands.concat()
    )
}

/// Reads a request without a body; false: there is none any more.
fn request(connection: &mut Connection) -> std::io::Result<bool> {
    loop {
        match connection.line(b"\r\n")? {
            None => return Ok(false),
            Some(line) if line.is_empty() => return Ok(true),
            Some(_) => {}
        }
    }
}

/// Everything below a directory that the test itself did not put there.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            files(&entry.path(), found);
        } else if entry.file_name() != "passwords" {
            found.push(entry.path());
        }
    }
}

fn assert_kept_secret(place: &Place, output: &std::process::Output) {
    let mut paths = Vec::new();
    files(&place.path("."), &mut paths);
    let read = paths.iter().map(|path| std::fs::read(path).unwrap());
    for bytes in read.chain([output.stdout.clone(), output.stderr.clone()]) {
        let mut windows = bytes.windows(PASSWORD.len());
        assert!(!windows.any(|part| part == PASSWORD.as_bytes()));
    }
    for row in place.rows("transaction").iter().chain(&place.rows("event")) {
        assert!(row.values().all(|cell| !cell.contains(PASSWORD)), "{row:?}");
    }
}

#[test]
fn a_line_protocol_is_driven_and_its_password_is_nowhere() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    for version in ["1.2", "1.3"] {
        let server = desk();
        let front = authority.front("server", server.port, version, "notify");
        let place = place(&tls(front.port, &authority.path("ca.pem"), ""));
        let output = place.run_until(QUICK, || {
            ["ask", "big"].iter().all(|class| place.outcomes(class).len() > 3)
        });
        assert_eq!(output.status.code(), Some(0), "{version}: {}", stderr(&output));
        let line = format!("tls:localhost:{}", front.port);
        assert_eq!(place.source()["line"].as_str(), Some(line.as_str()));
        let log_ons = place.outcomes("logon");
        // Connecting with the handshake, and the password.
        assert_eq!(log_ons.len(), 4);
        assert!(log_ons.iter().all(|row| row["outcome"] == "ok"), "{log_ons:?}");
        for (class, bytes) in [("ask", 10), ("big", 100_013)] {
            let rows = place.outcomes(class);
            assert!(rows.len() > 3, "{version} {class}: {}", rows.len());
            for row in rows {
                assert_eq!(row["outcome"], "ok", "{version} {row:?}");
                // Neither what TLS adds nor what it says on its own is the answer's.
                assert_eq!(number(&row, "output_bytes"), bytes, "{version} {row:?}");
                assert!(number(&row, "reaction_us") <= number(&row, "response_us"));
            }
        }
        assert_kept_secret(&place, &output);
        place.assert_clean();
    }
}

#[test]
fn a_session_over_https_keeps_its_connection_and_reads_answers_of_many_records() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    let body = "y".repeat(300_000);
    let server = Server::new(move |connection| {
        while request(connection)? {
            connection
                .say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\ny", body.len()).as_bytes())?;
            std::thread::sleep(Duration::from_millis(30));
            connection.say(&body.as_bytes()[1..])?;
        }
        Ok(())
    });
    let front = authority.front("server", server.port, "1.3", "notify");
    let command = "class = \"get\"\nrequest = \"GET /\"\nexpect = '^y+$'";
    let place = Place::new(&web(front.port, &authority.path("ca.pem"), "", &[command]));
    // The first record comes well before the last; on a busy machine not every time.
    let apart = |row: &Row| number(row, "response_us") - number(row, "reaction_us") > 25_000;
    let output = place.run_until(QUICK, || {
        let rows = place.outcomes("get");
        rows.len() > 3 && rows.iter().any(apart)
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("get");
    assert!(rows.iter().any(apart), "{rows:?}");
    for row in rows {
        assert_eq!(row["outcome"], "ok", "{row:?}");
        assert_eq!(number(&row, "output_bytes"), 300_000 + 43, "{row:?}");
    }
    // One for each user, and the one that was tried before.
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[test]
fn a_certificate_that_is_not_believed_is_refused_before_anything_starts() {
    let Some(authority) = Authority::new() else { return };
    let Some(other) = Authority::new() else { return };
    let server = desk();
    let cases = [
        (
            "good",
            NAMES,
            2,
            &other,
            "localhost",
            "an authority that is not known here",
        ),
        (
            "named",
            "DNS:other.example",
            2,
            &authority,
            "localhost",
            "not for localhost",
        ),
        (
            "numbered",
            "DNS:localhost",
            2,
            &authority,
            "127.0.0.1",
            "not for 127.0.0.1",
        ),
        ("old", NAMES, -1, &authority, "localhost", "that has expired"),
    ];
    for (name, names, days, believed, host, word) in cases {
        authority.sign(name, names, days);
        let front = authority.front(name, server.port, "1.3", "notify");
        let text = tls(front.port, &believed.path("ca.pem"), "").replace("localhost", host);
        let place = place(&text);
        let output = place.run(QUICK);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let said = stderr(&output);
        let line = format!("the line tls:{host}:{}", front.port);
        assert!(
            said.contains(&line) && said.contains(word) && said.contains("(OpenSSL: "),
            "{name}: {said}"
        );
        assert!(said.contains("\nhint: ") && said.contains("--tls-ca"), "{said}");
        assert!(!place.path("r.satline").exists());
        if name == "good" {
            // Nor does the host know it; the option has the last word.
            let host_only = text.replace(&format!("ca = {:?}\n", other.path("ca.pem")), "");
            std::fs::write(place.path("workload.toml"), host_only).unwrap();
            assert!(stderr(&place.run(QUICK)).contains(word));
            let option = format!("{QUICK} --tls-ca {}", authority.path("ca.pem").display());
            let output = place.run_until(&option, || !place.outcomes("ask").is_empty());
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
    }
    let numbered = authority.front("good", server.port, "1.2", "notify");
    let text = tls(numbered.port, &authority.path("ca.pem"), "").replace("localhost", "127.0.0.1");
    let place = place(&text);
    let output = place.run_until(QUICK, || !place.outcomes("ask").is_empty());
    assert_eq!(
        output.status.code(),
        Some(0),
        "by its address: {}",
        stderr(&output)
    );
}

#[test]
fn an_answer_that_lasts_until_the_end_is_whole_only_if_the_end_was_said() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    for (end, version, outcome) in [
        ("notify", "1.3", "ok"),
        ("notify", "1.2", "ok"),
        ("cut", "1.3", "died"),
        ("reset", "1.2", "died"),
    ] {
        let server = Server::new(|connection| {
            if request(connection)? {
                connection.say(b"HTTP/1.0 200 OK\r\n\r\nbody")?;
            }
            Ok(())
        });
        let front = authority.front("server", server.port, version, end);
        let command = "class = \"get\"\nrequest = \"GET /\"\nexpect = '^body$'";
        let more = ", retries = 1000";
        let place = Place::new(&web(front.port, &authority.path("ca.pem"), more, &[command]));
        let output = place.run_until(QUICK, || place.outcomes("get").len() > 3);
        assert_eq!(output.status.code(), Some(0), "{end}: {}", stderr(&output));
        let rows = place.outcomes("get");
        assert!(
            rows.len() > 3 && rows.iter().all(|row| row["outcome"] == outcome),
            "{end} {version}: {rows:?}"
        );
        if end == "cut" {
            let events = place.events("line-lost");
            assert!(
                events.iter().any(|event| event["text"].contains("TLS's word")),
                "{events:?}"
            );
        }
    }
}

#[test]
fn connections_cut_between_two_requests_are_made_anew() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    let server = Server::new(|connection| {
        if request(connection)? {
            connection.say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")?;
        }
        Ok(())
    });
    let front = authority.front("server", server.port, "1.3", "cut");
    let command = "class = \"get\"\nrequest = \"GET /\"\nexpect = '^body$'";
    // The cut has come when the user asks again, though the front may have to wait for a processor.
    let text = web(front.port, &authority.path("ca.pem"), "", &[command]);
    let place = Place::new(&text.replace("mean_seconds = 0.02", "mean_seconds = 0.5"));
    let output = place.run_until(QUICK, || place.outcomes("get").len() > 5);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("get");
    assert!(
        rows.len() > 5 && rows.iter().all(|row| row["outcome"] == "ok"),
        "{rows:?}"
    );
    assert!(place.events("line-lost").is_empty());
}

#[test]
fn a_long_request_goes_out_in_parts_on_a_connection_made_anew() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    let body = "z".repeat(4_000_000);
    let server = Server::new(|connection| {
        if request(connection)? {
            // Nobody reads at first.
            std::thread::sleep(Duration::from_millis(20));
            let came = connection.bytes(4_000_000)?.len();
            connection.say(
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{came}").as_bytes(),
            )?;
        }
        Ok(())
    });
    let front = authority.front("server", server.port, "1.3", "notify");
    let command = format!("class = \"put\"\nrequest = \"PUT /\"\nbody = \"{body}\"\nexpect = '^4000000$'");
    let place = Place::new(&web(front.port, &authority.path("ca.pem"), "", &[&command]));
    let words = "--steps 1 --ramp 0s --warmup 0s --window 1s --drain 60s";
    let output = place.run_until(words, || place.outcomes("put").len() > 1);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("put");
    assert!(
        rows.len() > 1 && rows.iter().all(|row| row["outcome"] == "ok"),
        "{rows:?}"
    );
}

#[test]
fn a_server_that_dies_is_died_and_then_refused() {
    let Some(authority) = Authority::new() else { return };
    authority.sign("server", NAMES, 2);
    let commands = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&commands);
    let server = Server::new(move |connection| {
        connection.say(b"password: ")?;
        connection.line(b"\n")?;
        connection.say(b"ready. ")?;
        while connection.line(b"\n")?.is_some() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    });
    let mut front = authority.front("server", server.port, "1.3", "notify");
    let place = place(&tls(front.port, &authority.path("ca.pem"), "retries = 2"));
    let child = place
        .command("--steps 2 --ramp 0s --warmup 0s --window 600s")
        .spawn()
        .unwrap();
    eventually("a command of each is under way", || {
        commands.load(Ordering::SeqCst) == 2
    });
    front.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let rows = place.commands();
    let count = |class: &str, outcome: &str| {
        let found = rows
            .iter()
            .filter(|row| (row["class"] == class) == (class == "logon"));
        found.filter(|row| row["outcome"] == outcome).count()
    };
    assert_eq!(count("command", "died"), 2, "{rows:?}");
    assert!(count("logon", "refused") >= 2, "{rows:?}");
    assert_kept_secret(&place, &output);
}

#[test]
fn servers_without_tls_and_silent_ones_are_told_apart() {
    let Some(authority) = Authority::new() else { return };
    let ca = authority.path("ca.pem");
    let plain = desk();
    let place_of = |port: u16| place(&tls(port, &ca, "retries = 0"));
    let output = place_of(plain.port).run("--steps 2 --ramp 0s --warmup 0s --window 600s");
    let said = stderr(&output);
    assert!(
        output.status.code() == Some(2) && said.contains("made no TLS connection (OpenSSL: "),
        "{said}"
    );
    let silent = Server::new(|connection| connection.bytes(1 << 20).map(drop));
    let rude = Server::new(|_| Ok(()));
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for (port, outcome) in [
        (silent.port, "timeout"),
        (rude.port, "refused"),
        (closed, "refused"),
    ] {
        let place = place_of(port);
        // Only the silent one is waited for in vain.
        let most = if outcome == "timeout" { "200ms" } else { "60s" };
        let output = place.run(&format!(
            "--steps 2 --ramp 0s --warmup 0s --window 600s --logon-timeout {most}"
        ));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let rows = place.rows("transaction");
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["outcome"] == outcome),
            "{rows:?}"
        );
    }
}

#[test]
fn what_is_wrong_with_the_keys_is_named() {
    let no_tls = "prompt = { pattern = 'x' }\nline = { to = \"tcp:localhost:1\", ca = \"ca.pem\" }\n";
    let tls = no_tls.replace("tcp:", "tls:");
    let script = "[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"c\"\ninput = \"x\"\n";
    let not_ours = tls
        .replace("localhost", "192.0.2.1")
        .replace(", ca = \"ca.pem\"", "");
    for (head, words, expected) in [
        (no_tls, "", "line.ca: belongs to tls and https"),
        (tls.as_str(), "", "cannot read"),
        (
            tls.as_str(),
            "--tls-ca workload.toml",
            "holds no certificate (OpenSSL: ",
        ),
        (tls.as_str(), "--line pty", "belongs to tls"),
        (
            &no_tls.replace(", ca = \"ca.pem\"", ""),
            "--tls-ca x",
            "--tls-ca: the line is tcp:",
        ),
        (not_ours.as_str(), "", "there is no list (--allow)"),
    ] {
        let place = Place::new(&workload(&format!("{head}{script}")));
        let words = words.replace("workload.toml", place.path("workload.toml").to_str().unwrap());
        let output = place.run(&format!("{QUICK} {words}"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(expected) && said.contains("\nhint: "),
            "{expected}: {said}"
        );
    }
}
