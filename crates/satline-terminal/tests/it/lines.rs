//! Whole runs over TCP and telnet, against real servers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::server::{Connection, Server};
use crate::support::{Place, eventually, number, send, stderr, suspend, workload};

const QUICK: &str = "--steps 2 --ramp 0s --warmup 0s --window 1500ms";

/// A line protocol: greeting, then `+ answer`, then `. ` as the prompt.
fn desk() -> Server {
    Server::new(|connection| {
        connection.say(b"welcome\nready. ")?;
        while let Some(line) = connection.line(b"\n")? {
            connection.say(format!("+ {line}\nready. ").as_bytes())?;
        }
        Ok(())
    })
}

fn tcp(port: u16, more: &str) -> String {
    let scripts = r#"
[[script]]
name = "ask"
[[script.command]]
class = "ask"
input = "ready {number}"
expect = '^\+ ready [12]\n'
"#;
    let line = format!(
        "prompt = {{ pattern = 'ready\\. ' }}\nline = {{ to = \"tcp:127.0.0.1:{port}\", retry_seconds = 0.05{more} }}\n"
    );
    workload(&format!("{line}{scripts}"))
}

#[test]
fn a_line_protocol_is_driven_and_connecting_is_a_transaction() {
    let server = desk();
    let place = Place::new(&tcp(server.port, ""));
    let output = place.run_until(QUICK, || place.outcomes("ask").len() > 10);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = place.rows("transaction");
    let log_ons: Vec<_> = rows.iter().filter(|row| row["class"] == "logon").collect();
    assert_eq!(log_ons.len(), 2);
    for row in log_ons {
        assert_eq!((row["outcome"].as_str(), row["phase"].as_str()), ("ok", "logon"));
        assert!(
            number(row, "reaction_us") <= number(row, "response_us"),
            "{row:?}"
        );
    }
    let asks: Vec<_> = rows
        .iter()
        .filter(|row| row["class"] == "ask" && row["outcome"] != "cut")
        .collect();
    assert!(asks.len() > 10, "{}", asks.len());
    for row in asks {
        // Nothing is echoed, though the answer begins as the line does not and the prompt as it does.
        assert_eq!(row["outcome"], "ok", "{row:?}");
        assert_eq!(number(row, "output_bytes"), 10, "{row:?}");
        assert_eq!(number(row, "input_characters"), 8);
        assert!(number(row, "reaction_us") >= 0 && number(row, "reaction_us") <= number(row, "response_us"));
    }
    assert_eq!(
        place.source()["line"].as_str(),
        Some(format!("tcp:127.0.0.1:{}", server.port).as_str())
    );
    place.assert_clean();
}

#[test]
fn the_option_names_another_line_than_the_workload() {
    let server = desk();
    let place = Place::new(&tcp(1, ""));
    let words = format!("{QUICK} --line tcp:localhost:{}", server.port);
    let output = place.run_until(&words, || !place.outcomes("ask").is_empty());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        place
            .commands()
            .iter()
            .any(|row| row["class"] == "ask" && row["outcome"] == "ok")
    );
}

#[test]
fn a_line_that_is_refused_is_tried_again_and_then_given_up() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let place = Place::new(&tcp(port, ", retries = 2"));
    // It ends by itself.
    let output = place.run("--steps 1 --ramp 0s --warmup 0s --window 600s");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("tcp:127.0.0.1:{port}")) && text.contains("3 times"),
        "{text}"
    );
    assert!(text.contains("\nhint: "), "{text}");
    let rows = place.rows("transaction");
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter()
            .all(|row| row["outcome"] == "refused" && !row.contains_key("response_us"))
    );
    assert_eq!(place.events("line-lost").len(), 3);
    assert_eq!(place.events("log-on-failed").len(), 1);
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_a_timeout() {
    let server = Server::new(|connection: &mut Connection| connection.line(b"\n").map(drop));
    let place = Place::new(&tcp(server.port, ", retries = 1"));
    let output = place.run("--steps 1 --ramp 0s --warmup 0s --window 600s --logon-timeout 200ms");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no prompt within 0.2 s"),
        "{}",
        stderr(&output)
    );
    assert!(
        place
            .rows("transaction")
            .iter()
            .all(|row| row["outcome"] == "timeout")
    );
}

#[test]
fn sessions_that_are_dropped_in_mid_answer_are_kept_and_begun_anew() {
    let server = Server::new(|connection| {
        connection.say(b"ready. ")?;
        for _ in 0..3 {
            let Some(line) = connection.line(b"\n")? else {
                return Ok(());
            };
            connection.say(format!("+ {line}\nready. ").as_bytes())?;
        }
        connection.line(b"\n")?;
        connection.say(b"+ rea")
    });
    let place = Place::new(&tcp(server.port, ""));
    let with = |outcome: &str| {
        let asked = place.outcomes("ask");
        asked.iter().filter(|row| row["outcome"] == outcome).count()
    };
    let output = place.run_until(QUICK, || with("died") >= 2 && with("ok") >= 6);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let commands = place.commands();
    let died: Vec<_> = commands.iter().filter(|row| row["outcome"] == "died").collect();
    assert!(died.len() >= 2, "{commands:?}");
    for row in &died {
        assert!(
            row.contains_key("reaction_us") && !row.contains_key("response_us"),
            "{row:?}"
        );
    }
    let ok = commands
        .iter()
        .filter(|row| row["class"] == "ask" && row["outcome"] == "ok")
        .count();
    assert!(ok >= 6, "users go on: {ok}");
    assert_eq!(
        place.source()["cost"]["lines_lost"].as_integer(),
        Some(died.len() as i64)
    );
}

#[test]
fn a_server_that_is_killed_ends_the_sessions_and_not_the_emulator() {
    let server = desk();
    let place = Place::new(&tcp(server.port, ", retries = 100"));
    let mut run = place.follow("--steps 2 --ramp 0s --warmup 0s --window 1s");
    let users = || {
        let asked = place.outcomes("ask");
        let users = asked.iter().filter(|row| row["outcome"] == "ok");
        users
            .map(|row| row["user"].clone())
            .collect::<BTreeSet<_>>()
            .len()
    };
    run.once("both have been answered", || users() == 2);
    server.kill();
    run.when("both are refused", || {
        let rows = place.rows("transaction");
        place.events("line-lost").len() >= 2 && rows.iter().any(|row| row["outcome"] == "refused")
    });
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let outcomes: Vec<_> = place
        .rows("transaction")
        .iter()
        .map(|row| row["outcome"].clone())
        .collect();
    for outcome in ["ok", "refused"] {
        assert!(outcomes.iter().any(|have| have == outcome), "{outcomes:?}");
    }
    assert!(place.events("line-lost").len() >= 2);
}

#[test]
fn an_answer_that_takes_too_long_costs_the_session() {
    let server = Server::new(|connection| {
        connection.say(b"ready. ")?;
        while connection.line(b"\n")?.is_some() {
            connection.say(b"+ never done")?;
        }
        Ok(())
    });
    let place = Place::new(
        &tcp(server.port, ", retries = 1").replace("timeout_seconds = 180", "timeout_seconds = 1"),
    );
    // It ends by itself.
    let output = place.run("--steps 1 --ramp 0s --warmup 0s --window 600s");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let asks: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "ask")
        .collect();
    assert_eq!(asks.len(), 2);
    assert!(
        asks.iter()
            .all(|row| row["outcome"] == "timeout" && !row.contains_key("response_us"))
    );
}

#[test]
fn hostile_bytes_harm_nobody() {
    let server = Server::new(|connection| {
        let mut seed = connection.number as u64 * 77;
        connection.say(b"\x1b]0;ready. \x07\x1b[31mready. ")?;
        while connection.line(b"\n")?.is_some() {
            let noise: Vec<u8> = (0..5000)
                .map(|_| {
                    seed = seed
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (seed >> 56) as u8
                })
                .collect();
            connection.say(&noise)?;
            connection.say(b"\x18\nready. ")?;
        }
        Ok(())
    });
    for line in ["tcp", "telnet"] {
        let place =
            Place::new(&tcp(server.port, ", line_end = \"lf\"").replace("tcp:127", &format!("{line}:127")));
        let unexpected = || place.commands().iter().any(|row| row["outcome"] == "unexpected");
        let output = place.run_until(QUICK, || line == "telnet" || unexpected());
        assert!(
            [Some(0), Some(2)].contains(&output.status.code()),
            "{}",
            stderr(&output)
        );
        assert!(!output.stderr.contains(&0x1b));
        if line == "tcp" {
            assert!(unexpected());
        }
    }
}

#[test]
fn a_host_that_is_not_this_one_needs_leave() {
    for line in ["tcp:192.0.2.1:7000", "telnet:[2001:db8::1]:23"] {
        let place = Place::new(&tcp(1, ""));
        let output = place.run(&format!("{QUICK} --line {line}"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains("not this host") && text.contains("--allow"),
            "{text}"
        );
        std::fs::write(place.path("allow.toml"), "").unwrap();
        let list = place.path("allow.toml");
        let output = place.run(&format!("{QUICK} --line {line} --allow {}", list.display()));
        assert!(stderr(&output).contains("is not in it"), "{}", stderr(&output));
        assert!(!place.path("r.satline").exists());
    }
}

/// An address of this host that is not loopback, if it has one; nothing is sent.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

#[test]
fn an_owner_gives_leave_and_takes_it_back() {
    let Some(address) = own_address() else {
        return eprintln!("skipped: this host has no address but loopback's");
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = Server::on(&address.to_string(), move |connection| {
        connection.say(b"ready. ")?;
        while connection.line(b"\n")?.is_some() {
            counted.fetch_add(1, Ordering::SeqCst);
            connection.say(b"+\nready. ")?;
        }
        Ok(())
    });
    let listen = std::net::SocketAddr::new(address, 0);
    let mut owner = std::process::Command::new(env!("CARGO_BIN_EXE_satline-terminal"))
        .args([
            "allow",
            "--listen",
            &listen.to_string(),
            "--for",
            &address.to_string(),
        ])
        .args(["--port", &server.port.to_string(), "--max-users", "2"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut entry = vec![0; 4096];
    let got = std::io::Read::read(owner.stdout.as_mut().unwrap(), &mut entry).unwrap();
    let place = Place::new(&tcp(server.port, "").replace("127.0.0.1", &address.to_string()));
    std::fs::write(place.path("allow.toml"), &entry[..got]).unwrap();
    let list = format!(
        "--allow {} --max-rate 50 --ramp 0s --warmup 0s",
        place.path("allow.toml").display()
    );
    let output = place.run(&format!("--steps 3 --window 1s {list}"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("it allows 2 users, not 3"),
        "{}",
        stderr(&output)
    );
    let child = place
        .command(&format!("--steps 2 --window 600s {list}"))
        .spawn()
        .unwrap();
    eventually("both are connected", || {
        server.connections.load(Ordering::SeqCst) >= 2
    });
    // Who suspends it for a while takes nothing back.
    suspend(&owner);
    send(&owner, libc::SIGCONT);
    let before = asked.load(Ordering::SeqCst);
    eventually("the users go on", || asked.load(Ordering::SeqCst) > before + 20);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no longer allows"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.source()["end_reason"].as_str(), Some("failed"));
}

#[test]
fn rate_and_time_are_bounded() {
    let server = desk();
    let place = Place::new(&tcp(server.port, "").replace("mean_seconds = 0.05", "mean_seconds = 0.0"));
    let words = "--steps 2 --ramp 0s --warmup 0s --window 2s --max-rate 5";
    let output = place.run_until(words, || place.outcomes("ask").len() > 5);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut sent: Vec<_> = place
        .commands()
        .iter()
        .filter(|row| row["class"] == "ask")
        .map(|row| number(row, "monotonic_ns"))
        .collect();
    sent.sort();
    let seconds = (sent[sent.len() - 1] - sent[0]) as f64 / 1e9;
    // The first, whenever it was sent after it had leave, one that was saved up, and one that may be between.
    assert!(
        sent.len() as f64 <= 5.0 * seconds + 3.0,
        "{} in {seconds} s",
        sent.len()
    );
    let source = place.source();
    assert_eq!(source["late"].as_bool(), Some(true));
    assert!(source["cost"]["lines_held"].as_integer().unwrap() > 0);
    let output = place.run("--steps 2 --window 2h --max-time 1h");
    assert!(output.status.code() == Some(2) && stderr(&output).contains("--max-time"));
}
