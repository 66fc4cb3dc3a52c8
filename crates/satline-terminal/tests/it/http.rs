//! Users of an HTTP service, against real servers.

use crate::support::server::{Connection, Server};
use crate::support::{Place, Row, number, stderr};

const QUICK: &str = "--steps 2 --ramp 0s --warmup 0s --window 1s --drain 1s";

/// The next request: its head's lines and its body.
fn request(connection: &mut Connection) -> std::io::Result<Option<(Vec<String>, String)>> {
    let mut head = Vec::new();
    loop {
        match connection.line(b"\r\n")? {
            None => return Ok(None),
            Some(line) if line.is_empty() => break,
            Some(line) => head.push(line),
        }
    }
    let length = header(&head, "Content-Length").map_or(0, |value| value.parse().unwrap());
    let body = connection.bytes(length)?;
    Ok(Some((head, body)))
}

fn header<'a>(head: &'a [String], name: &str) -> Option<&'a str> {
    let found = head
        .iter()
        .find_map(|line| line.split_once(": ").filter(|(have, _)| *have == name));
    found.map(|(_, value)| value)
}

fn answer(connection: &mut Connection, status: &str, headers: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    connection.say(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").as_bytes())
}

fn workload(port: u16, more: &str, commands: &[&str]) -> String {
    let commands: Vec<String> = commands
        .iter()
        .map(|command| format!("[[script.command]]\n{command}\n"))
        .collect();
    format!(
        "name = \"web\"\ntimeout_seconds = 60\nthink = {{ distribution = \"fixed\", mean_seconds = 0.02 }}\n\
         line = {{ to = \"http://127.0.0.1:{port}\", retry_seconds = 0.05{more} }}\n\
         [[script]]\nname = \"s\"\norder = \"sequence\"\n{}",
        commands.concat()
    )
}

#[test]
fn a_session_logs_on_keeps_its_cookie_and_its_connection() {
    let server = Server::new(|connection| {
        let number = connection.number;
        while let Some((head, body)) = request(connection)? {
            match head[0].as_str() {
                "POST /log-on HTTP/1.1" => {
                    let cookie = format!("Set-Cookie: id={body}-{number}; Path=/\r\n");
                    answer(connection, "303 See Other", &cookie, "")?;
                }
                _ => {
                    let who = header(&head, "Cookie").unwrap_or("nobody").to_owned();
                    connection.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nI \r\n")?;
                    connection.until_read();
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    connection.say(format!("{:x}\r\n{who}\r\n0\r\n\r\n", who.len()).as_bytes())?;
                }
            }
        }
        Ok(())
    });
    let text = workload(
        server.port,
        "",
        &[
            "class = \"log-on\"\nrequest = \"POST /log-on\"\nbody = \"u{number}\"\nstatus = 303",
            "class = \"page\"\nrequest = \"GET /page?{random:1:9}\"\nexpect = '^I id=u[12]-[12]$'",
        ],
    );
    let place = Place::new(&text);
    let output = place.run_until(QUICK, || {
        ["log-on", "page"]
            .iter()
            .all(|class| place.outcomes(class).len() > 5)
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for class in ["log-on", "page"] {
        let rows = place.outcomes(class);
        assert!(
            rows.len() > 5 && rows.iter().all(|row| row["outcome"] == "ok"),
            "{rows:?}"
        );
        assert!(
            rows.iter()
                .all(|row| !row.contains_key("exit_status") && row["typing_us"] == "0")
        );
    }
    // The first byte comes 30 ms before the last, and has been read by then. Between the reading and its time the
    // emulator may be kept from its processor: once in some thousand answers, not in half of them.
    let pages = place.outcomes("page");
    let apart_us = |row: &Row| number(row, "response_us") - number(row, "reaction_us");
    let apart = pages.iter().filter(|row| apart_us(row) > 25_000);
    assert!(apart.count() * 2 > pages.len(), "{pages:?}");
    assert_eq!(
        server.connections.load(std::sync::atomic::Ordering::SeqCst),
        2,
        "one for each user"
    );
    let rows = place.rows("transaction");
    let connects = rows
        .iter()
        .filter(|row| row["class"] == "logon" && row["outcome"] == "ok");
    assert_eq!(connects.count(), 2);
    assert_eq!(
        place.source()["line"].as_str(),
        Some(format!("http://127.0.0.1:{}", server.port).as_str())
    );
}

#[test]
fn every_failure_is_an_outcome() {
    let server = Server::new(|connection| {
        while let Some((head, _)) = request(connection)? {
            match head[0].split(' ').nth(1).unwrap() {
                "/missing" => answer(connection, "404 Not Found", "", "no")?,
                "/other" => answer(connection, "200 OK", "", "other")?,
                "/reset" => return connection.say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
                "/odd" => connection.say(b"SSH-2.0-x\r\n\r\n")?,
                _ => {} // no answer
            }
        }
        Ok(())
    });
    let cases = [
        ("missing", "unexpected"),
        ("other", "unexpected"),
        ("reset", "died"),
        ("odd", "unexpected"),
        ("slow", "timeout"),
    ];
    for (path, outcome) in cases {
        let command = format!("class = \"{path}\"\nrequest = \"GET /{path}\"\nexpect = 'this'");
        let text = workload(server.port, ", retries = 1000", &[&command]);
        // The others fail at once, however busy the machine is.
        let seconds = if outcome == "timeout" { "0.1" } else { "60" };
        let place =
            Place::new(&text.replace("timeout_seconds = 60", &format!("timeout_seconds = {seconds}")));
        let output = place.run_until(&QUICK.replace("--steps 2", "--steps 1"), || {
            place.outcomes(path).len() > 1
        });
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        let rows = place.outcomes(path);
        assert!(
            rows.len() > 1 && rows.iter().all(|row| row["outcome"] == outcome),
            "{path}: {rows:?}"
        );
    }
    server.kill();
    let place = Place::new(&workload(
        server.port,
        ", retries = 1",
        &["class = \"x\"\nrequest = \"GET /\""],
    ));
    let output = place.run(QUICK);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        place
            .rows("transaction")
            .iter()
            .all(|row| row["outcome"] == "refused")
    );
}

#[test]
fn connections_that_servers_close_are_made_anew_and_nothing_is_lost() {
    // Said before (Connection: close), by the end of the body, and in the quiet between two requests.
    for how in ["Connection: close\r\n", "until-close", ""] {
        let server = Server::new(move |connection| {
            if request(connection)?.is_none() {
                return Ok(());
            }
            if how == "until-close" {
                return connection.say(b"HTTP/1.0 200 OK\r\n\r\nbody");
            }
            if how.is_empty() {
                return connection.say_last(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
            }
            answer(connection, "200 OK", how, "body")
        });
        let text = workload(
            server.port,
            "",
            &["class = \"get\"\nrequest = \"GET /\"\nexpect = '^body$'"],
        );
        let place = Place::new(&text);
        let output = place.run_until(QUICK, || place.outcomes("get").len() > 5);
        assert_eq!(output.status.code(), Some(0), "{how}: {}", stderr(&output));
        let rows = place.outcomes("get");
        assert!(
            rows.len() > 5 && rows.iter().all(|row| row["outcome"] == "ok"),
            "{how}: {rows:?}"
        );
        assert!(place.events("line-lost").is_empty());
        let connections = server.connections.load(std::sync::atomic::Ordering::SeqCst);
        assert!(
            connections >= rows.len(),
            "{connections} connections, {} answers",
            rows.len()
        );
    }
}

#[test]
fn requests_arrive_in_an_open_system() {
    let server = Server::new(|connection| {
        while request(connection)?.is_some() {
            answer(connection, "200 OK", "", "body")?;
        }
        Ok(())
    });
    let text = workload(
        server.port,
        "",
        &["class = \"get\"\nrequest = \"GET /\"\nweight = 1"],
    )
    .replace("order = \"sequence\"\n", "")
    .replace(
        "timeout_seconds = 60",
        "timeout_seconds = 60\narrivals = { per_second = 50.0 }",
    );
    let place = Place::new(&text);
    let output = place.run_until(QUICK, || place.outcomes("get").len() > 10);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.outcomes("get");
    assert!(rows.len() > 10, "{}", rows.len());
    assert!(
        rows.iter()
            .all(|row| row["outcome"] == "ok" && row.contains_key("intended_ns")),
        "{rows:?}"
    );
}
