//! Metrics as Prometheus reads them, over a listener of the standard library: one short answer to whatever is asked.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::face::Status;

/// The text that is answered.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<String>>);

impl Metrics {
    /// Answers on a thread of its own.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let metrics = Metrics::default();
        let text = metrics.0.clone();
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let mut stream = stream;
                    let limit = Some(Duration::from_secs(2));
                    let _ = stream.set_read_timeout(limit);
                    let _ = stream.set_write_timeout(limit);
                    let mut request = [0; 2048];
                    let _ = stream.read(&mut request);
                    let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let _ = write!(
                        stream,
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
                         Connection: close\r\n\r\n{body}",
                        body.len()
                    );
                }
            })?;
        Ok(metrics)
    }

    /// Answers this from now on.
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Sums over users, not one series for each: their names are not bounded.
pub fn text(status: &Status<'_>) -> String {
    let mut text = String::new();
    let mut put = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        let _ = writeln!(text, "# HELP satline_swapper_{name} {help}");
        let _ = writeln!(text, "# TYPE satline_swapper_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "satline_swapper_{name}{labels} {value}");
        }
    };
    let plain = |value: f64| vec![(String::new(), value)];
    let states = [
        "active", "idle", "trimmed", "partly", "swapped", "eligible", "resuming",
    ];
    let by_state: Vec<(String, f64)> = states
        .iter()
        .map(|state| {
            let users = status.users.iter().filter(|user| user.state.word() == *state);
            (format!("{{state=\"{state}\"}}"), users.count() as f64)
        })
        .collect();
    put("users", "gauge", "Users by state.", &by_state);
    let sum = |of: fn(&crate::face::UserStatus<'_>) -> i64| status.users.iter().map(of).sum::<i64>() as f64;
    for (name, help, value) in [
        (
            "resumes_total",
            "Resumes of users who were out.",
            sum(|user| user.resumes),
        ),
        (
            "resume_seconds_total",
            "Time from first touch to last major fault of these resumes.",
            sum(|user| user.resume_us) / 1e6,
        ),
        (
            "swapped_out_pages_total",
            "Pages written out.",
            sum(|user| user.swapped_out_pages),
        ),
        (
            "prepaged_pages_total",
            "Pages read at queue-add.",
            sum(|user| user.prepaged_pages),
        ),
        (
            "prepage_errors_total",
            "Prepaged pages that were not touched in the stay.",
            sum(|user| user.prepage_errors),
        ),
        (
            "cpu_seconds_total",
            "Processor time of the swapper.",
            status.cpu_us as f64 / 1e6,
        ),
    ] {
        put(name, "counter", help, &plain(value));
    }
    put(
        "short",
        "gauge",
        "Whether storage is short.",
        &plain(f64::from(u8::from(status.short))),
    );
    if let Some(storage) = status.storage {
        put(
            "free_bytes",
            "gauge",
            "Free storage.",
            &plain(storage.free_bytes as f64),
        );
        put(
            "swap_free_bytes",
            "gauge",
            "Free swap space.",
            &plain(storage.swap_free_bytes as f64),
        );
    }
    text
}
