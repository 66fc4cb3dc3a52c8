//! Open arrivals over real lines.

use crate::support::server::Server;
use crate::support::{Place, number, stderr, workload};

fn open(port: u16, arrivals: &str) -> String {
    let head = "name = \"test\"\ntimeout_seconds = 20\nsettle_seconds = 0\n";
    let rest = workload("").lines().last().unwrap_or_default().to_owned();
    format!(
        "{head}{rest}\nprompt = {{ pattern = '> ' }}\narrivals = {arrivals}\nline = {{ to = \"tcp:127.0.0.1:{port}\" }}\n\
         [[script]]\nname = \"ask\"\n[[script.command]]\nclass = \"ask\"\ninput = \"x\"\n"
    )
}

/// A server that takes so long for each answer.
fn slow(milliseconds: u64) -> Server {
    Server::new(move |connection| {
        connection.say(b"> ")?;
        while connection.line(b"\n")?.is_some() {
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
            connection.say(b"done\n> ")?;
        }
        Ok(())
    })
}

#[test]
fn commands_start_when_they_are_due_and_not_when_answers_come() {
    let server = slow(50);
    let place = Place::new(&open(
        server.port,
        "{ per_second = 20.0, distribution = \"fixed\" }",
    ));
    let output = place.run("--steps 8 --ramp 300ms --warmup 0s --window 2s");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut rows: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "ask")
        .collect();
    rows.sort_by_key(|row| number(row, "intended_ns"));
    let counts = place.source()["arrivals"].as_table().unwrap().clone();
    assert_eq!(counts["due"].as_integer(), Some(rows.len() as i64), "{counts:?}");
    assert!((36..=41).contains(&rows.len()), "{}", rows.len());
    for pair in rows.windows(2) {
        let gap = number(&pair[1], "intended_ns") - number(&pair[0], "intended_ns");
        assert_eq!(gap, 50_000_000, "whatever the answers took");
    }
    for row in rows.iter().filter(|row| row["outcome"] == "ok") {
        let late = (number(row, "monotonic_ns") - number(row, "intended_ns")) / 1000;
        let sum = late + number(row, "response_us");
        assert!(
            late >= 0 && (number(row, "response_from_intended_us") - sum).abs() <= 2,
            "{row:?}"
        );
        assert_eq!(number(row, "think_us"), 0);
    }
}

#[test]
fn a_pool_that_runs_dry_is_told_and_the_wait_is_counted() {
    let server = slow(100);
    let place = Place::new(&open(server.port, "{ per_second_per_user = 20.0 }"));
    // Two sessions take 20 commands a second; 40 come.
    let output = place.run("--steps 2 --ramp 300ms --warmup 0s --window 2s --drain 1s");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("found no free session"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.events("pool-dry").len(), 1);
    let counts = place.source()["arrivals"].as_table().unwrap().clone();
    let count = |key: &str| counts[key].as_integer().unwrap();
    let rows: Vec<_> = place
        .commands()
        .into_iter()
        .filter(|row| row["class"] == "ask")
        .collect();
    assert_eq!(count("due"), rows.len() as i64 + count("never_started"));
    assert!(
        count("never_started") > 5 && count("waited") > count("never_started"),
        "{counts:?}"
    );
    let worst = rows
        .iter()
        .filter(|row| row["outcome"] == "ok")
        .map(|row| number(row, "response_from_intended_us"))
        .max();
    assert!(
        worst.unwrap() > 400_000,
        "the wait for a session counts: {worst:?}"
    );
    // That is not the emulator's own lateness.
    let waited: Vec<_> = rows
        .iter()
        .map(|row| {
            let wait_us = (number(row, "monotonic_ns") - number(row, "intended_ns")) / 1000;
            (wait_us, number(row, "lateness_us"))
        })
        .filter(|(wait_us, _)| *wait_us > 200_000)
        .collect();
    let own = waited
        .iter()
        .filter(|(wait_us, late_us)| late_us * 2 > *wait_us)
        .count();
    assert!(own * 2 < waited.len(), "{waited:?}");
}
