//! Metrics as Prometheus reads them, over a listener of the standard library: one short answer to whatever is asked.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::face::Status;

/// Connections that may be open at a time.
const CONNECTIONS: usize = 32;
/// Time that one client has to ask, and again to take the answer.
const CLIENT: Duration = Duration::from_secs(2);

/// The text that is answered.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<String>>);

impl Metrics {
    /// Answers on a thread of its own.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(address: SocketAddr) -> std::io::Result<Self> {
        Self::serve(TcpListener::bind(address)?)
    }

    fn serve(listener: TcpListener) -> std::io::Result<Self> {
        let metrics = Metrics::default();
        let text = metrics.0.clone();
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                let open = Arc::new(AtomicUsize::new(0));
                for stream in listener.incoming().flatten() {
                    // Beyond the limit a connection is closed at once: idle ones end within two seconds.
                    let place = Place::take(&open);
                    let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let Some(place) = place else { continue };
                    // Where there is no room for a thread the connection is closed too.
                    let _ = std::thread::Builder::new()
                        .name("metrics client".into())
                        .stack_size(64 << 10)
                        .spawn(move || {
                            answer(stream, &body);
                            drop(place);
                        });
                }
            })?;
        Ok(metrics)
    }

    /// Answers this from now on.
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// One of the connections that may be open at a time.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Place(open.clone());
        (open.fetch_add(1, Ordering::SeqCst) < CONNECTIONS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers one client, which has two seconds in all to ask.
fn answer(mut stream: TcpStream, body: &str) {
    let until = Instant::now() + CLIENT;
    let mut request = [0; 2048];
    let mut length = 0;
    // Whatever is asked; but what was not read when the connection is closed would take the answer with it.
    while length < request.len() && !request[..length].ends_with(b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut request[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(_) => return,
        }
    }
    let _ = stream.set_write_timeout(Some(CLIENT));
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn idle_clients_stall_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let free = listener.local_addr().unwrap();
        let metrics = Metrics::serve(listener).unwrap();
        metrics.set("up 1\n".into());
        let idle: Vec<_> = (0..CONNECTIONS - 1)
            .map(|_| TcpStream::connect(free).unwrap())
            .collect();
        let answer = asked(free, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("up 1\n"),
            "{answer}"
        );
        drop(idle);
    }

    #[test]
    fn more_connections_than_may_be_are_closed_and_later_ones_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let free = listener.local_addr().unwrap();
        let metrics = Metrics::serve(listener).unwrap();
        metrics.set("up 1\n".into());
        let idle: Vec<_> = (0..3 * CONNECTIONS)
            .map(|_| TcpStream::connect(free).unwrap())
            .collect();
        drop(idle);
        let answered = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            let mut answer = String::new();
            if let Ok(mut stream) = TcpStream::connect(free) {
                let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
                let _ = stream.read_to_string(&mut answer);
            }
            answer.ends_with("up 1\n")
        });
        assert!(answered);
    }
}
