//! Open arrivals over real lines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use satline_program::clock::{SECOND_NS, monotonic_ns};

use crate::support::server::Server;
use crate::support::{Place, Row, eventually, number, stderr, workload};

fn open(port: u16, arrivals: &str) -> String {
    let head = "name = \"test\"\ntimeout_seconds = 600\nsettle_seconds = 0\n";
    let rest = workload("").lines().last().unwrap_or_default().to_owned();
    format!(
        "{head}{rest}\nprompt = {{ pattern = '> ' }}\narrivals = {arrivals}\nline = {{ to = \"tcp:127.0.0.1:{port}\" }}\n\
         [[script]]\nname = \"ask\"\n[[script.command]]\nclass = \"ask\"\ninput = \"x\"\n"
    )
}

/// A server that takes so long for each answer, and longer while it is held.
struct Desk {
    port: u16,
    held: Arc<AtomicBool>,
}

impl Desk {
    fn new(milliseconds: u64) -> Self {
        let held = Arc::new(AtomicBool::new(false));
        let hold = Arc::clone(&held);
        let server = Server::new(move |connection| {
            connection.say(b"> ")?;
            while connection.line(b"\n")?.is_some() {
                std::thread::sleep(Duration::from_millis(milliseconds));
                eventually("it is let go", || !hold.load(Ordering::SeqCst));
                connection.say(b"done\n> ")?;
            }
            Ok(())
        });
        Self {
            port: server.port,
            held,
        }
    }

    fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }
}

/// Commands that were sent, in the order of their intended starts.
fn asked(place: &Place) -> Vec<Row> {
    let mut rows = place.commands();
    rows.retain(|row| row["class"] == "ask");
    rows.sort_by_key(|row| number(row, "intended_ns"));
    rows
}

/// Each arrival that was due is a row or is told: one of `[arrivals]` by its key.
fn accounted(place: &Place) -> impl Fn(&str) -> i64 {
    let counts = place.source()["arrivals"].as_table().unwrap().clone();
    let count = move |key: &str| counts[key].as_integer().unwrap();
    let rows = asked(place).len() as i64;
    assert_eq!(count("due"), rows + count("never_started"), "{rows} rows");
    count
}

#[test]
fn commands_start_when_they_are_due_and_not_when_answers_come() {
    let desk = Desk::new(50);
    let place = Place::new(&open(
        desk.port,
        "{ per_second = 20.0, distribution = \"fixed\" }",
    ));
    let output = place.run_until("--steps 8 --ramp 300ms --warmup 0s --window 2s", || {
        place.events("logged-on").len() == 8 && place.outcomes("ask").len() > 36
    });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = asked(&place);
    let due = accounted(&place)("due");
    let last_ns = number(&rows[0], "intended_ns") + (due - 1) * 50_000_000;
    let stopped = &place.events("stopped")[0];
    assert!(
        due > 36 && last_ns <= number(stopped, "monotonic_ns"),
        "{due}: {rows:?}"
    );
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
    let desk = Desk::new(0);
    desk.hold(true);
    let place = Place::new(&open(desk.port, "{ per_second_per_user = 20.0 }"));
    let mut run = place.follow("--steps 2 --ramp 0s --warmup 0s --window 1s --drain 100ms");
    run.when("arrivals wait", || !place.events("pool-dry").is_empty());
    let released_ns = monotonic_ns();
    desk.hold(false);
    let waited_us = |row: &Row| (number(row, "monotonic_ns") - number(row, "intended_ns")) / 1000;
    let waited = || {
        let mut rows = place.outcomes("ask");
        rows.retain(|row| {
            number(row, "intended_ns") < released_ns && released_ns <= number(row, "monotonic_ns")
        });
        rows
    };
    // Of 40 in a window of one second two were sent.
    run.once("who waited is answered", || waited().len() > 15);
    desk.hold(true);
    // Of a step that ends the run when it is over none is answered.
    run.step("2 window=1s");
    let output = run.end();
    desk.hold(false);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("found no free session"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.events("pool-dry").len(), 2, "in each step");
    let count = accounted(&place);
    assert!(
        count("never_started") > 5 && count("waited") > count("never_started"),
        "{} of {}",
        count("never_started"),
        count("waited")
    );
    for row in waited() {
        let least_us = (released_ns - number(&row, "intended_ns")) / 1000;
        assert!(
            number(&row, "response_from_intended_us") >= least_us,
            "the wait for a session counts: {row:?}"
        );
    }
    // That is not the emulator's own lateness, which a busy machine may add to some.
    let own = |row: &Row| number(row, "lateness_us") * 2 > waited_us(row);
    assert!(!waited().iter().all(own), "{:?}", waited());
}

#[test]
fn arrivals_that_wait_for_the_bound_on_the_rate_are_sent_by_others_or_counted() {
    let desk = Desk::new(0);
    let place = Place::new(&open(
        desk.port,
        "{ per_second = 100.0, distribution = \"fixed\" }",
    ));
    let mut run = place.follow("--steps 2 --ramp 0s --warmup 0s --window 1s --max-rate 20");
    run.when("both are logged on", || place.events("logged-on").len() == 2);
    // The second leaves while the bound keeps it from sending what it has taken.
    run.step("1");
    run.when("the first goes on", || {
        let rows = place.outcomes("ask");
        rows.iter().filter(|row| row["step"] == "2").count() > 3
    });
    // At the end the bound keeps the first.
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(accounted(&place)("never_started") > 0);
    for pair in asked(&place).windows(2) {
        let gap = number(&pair[1], "intended_ns") - number(&pair[0], "intended_ns");
        assert_eq!(gap, 10_000_000, "none is left out: {pair:?}");
    }
}

#[test]
fn an_arrival_that_comes_back_goes_to_a_session_that_is_idle() {
    let desk = Desk::new(0);
    let place = Place::new(&open(desk.port, "{ per_second = 5.0, distribution = \"fixed\" }"));
    let mut run = place.follow("--steps 2 --ramp 1100ms --warmup 0s --window 550ms --max-rate 2");
    // The second user takes the second arrival, must wait before it may send it, and leaves before the third.
    run.step("1 ramp=0s");
    run.when("the first goes on", || {
        let rows = place.outcomes("ask");
        rows.iter().filter(|row| row["step"] == "2").count() > 2
    });
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(accounted(&place)("due") > 2);
    let rows = asked(&place);
    let answered_ns = number(&rows[0], "monotonic_ns") + number(&rows[0], "response_us") * 1000;
    let on_ns = number(&place.events("logged-on")[1], "monotonic_ns");
    if on_ns < number(&rows[0], "intended_ns") && answered_ns < number(&rows[1], "intended_ns") {
        // It was not late: the first user had been idle for less time than the second, and still was.
        assert_eq!(rows[0]["user"], "user-001");
        let sent: Vec<_> = rows.iter().map(|row| number(row, "monotonic_ns")).collect();
        assert!(
            sent.is_sorted(),
            "in the order of their intended starts: {rows:?}"
        );
        let gap = number(&rows[1], "intended_ns") - number(&rows[0], "intended_ns");
        assert_eq!(gap, 200_000_000, "the second is not left out");
    }
}

#[test]
fn commands_that_a_late_emulator_has_begun_when_the_run_ends_are_counted() {
    let desk = Desk::new(0);
    desk.hold(true);
    let place = Place::new(&open(desk.port, "{ per_second = 100.0 }"));
    let mut run = place.follow("--steps 2 --ramp 0s --warmup 0s --window 300ms --drain 180s");
    run.when("both are logged on", || place.events("logged-on").len() == 2);
    // The run is over with this one's window.
    run.step("2 window=3s");
    run.tell("end");
    run.once("it has begun", || place.events("step").len() == 2);
    run.stop();
    desk.hold(false);
    let end_ns = number(&place.events("step")[1], "monotonic_ns") + 3 * SECOND_NS;
    eventually("the window is over", || monotonic_ns() > end_ns);
    // So much is due by now that it looks at the answers before the end of its window.
    run.go_on();
    let output = run.over();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(accounted(&place)("never_started") > 0);
}
