//! The owner's side: answers emulators for as long as it runs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use satline_program::Error;

use super::{Ask, LINE_LIMIT, PATIENCE};
use crate::cli::AllowOptions;

/// Emulators and others that may be connected at one time.
const CONNECTIONS: usize = 16;

/// What an owner allows.
#[derive(Debug)]
pub struct Owner {
    listener: TcpListener,
    client: IpAddr,
    most: Ask,
    token: String,
    until: Instant,
}

impl Owner {
    /// Listens; `most` is the port and the bounds, `until` how long all this holds.
    pub fn new(listen: SocketAddr, client: IpAddr, most: Ask, until: Duration) -> io::Result<Self> {
        let mut random = [0u8; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self {
            listener: TcpListener::bind(listen)?,
            client,
            most,
            token: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            until: Instant::now() + until,
        })
    }

    /// The entry for the list of whoever runs the emulator.
    pub fn entry(&self, host: &str) -> String {
        let confirm_port = self.listener.local_addr().map_or(0, |address| address.port());
        let (port, token) = (self.most.port, &self.token);
        format!(
            "[[target]]\nhost = \"{host}\"\nport = {port}\nconfirm_port = {confirm_port}\ntoken = \"{token}\"\n"
        )
    }

    /// Answers until the time is over; the connections of those who were allowed close with it.
    pub fn run(self) -> io::Result<()> {
        let owner = Arc::new(self);
        let open = Arc::new(AtomicUsize::new(0));
        owner.listener.set_nonblocking(true)?;
        while Instant::now() < owner.until {
            let Ok((stream, peer)) = owner.listener.accept() else {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if open.load(Ordering::Relaxed) >= CONNECTIONS {
                continue; // dropped
            }
            open.fetch_add(1, Ordering::Relaxed);
            let (owner, open) = (Arc::clone(&owner), Arc::clone(&open));
            std::thread::spawn(move || {
                let _ = owner.attend(stream, peer.ip());
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
        Ok(())
    }

    /// One conversation, held open while the run lasts.
    fn attend(&self, mut stream: TcpStream, peer: IpAddr) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&stream).take(LINE_LIMIT)).read_line(&mut line)?;
        if let Err(why) = self.judge(line.trim_end(), peer) {
            note(&format!("{peer}: no: {why}"));
            return stream.write_all(format!("satline-no {why}\n").as_bytes());
        }
        note(&format!("{peer}: yes"));
        stream.write_all(b"satline-yes\n")?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        while Instant::now() < self.until {
            match stream.read(&mut [0u8; 64]) {
                // Interrupted: the owner has suspended it for a while, and takes nothing back.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) => {}
                _ => break,
            }
        }
        note(&format!("{peer}: over"));
        Ok(())
    }

    fn judge(&self, line: &str, peer: IpAddr) -> Result<(), String> {
        let (token, ask) = Ask::parse(line).ok_or("that is no question of satline-terminal")?;
        if peer != self.client {
            return Err(format!("it allows {}, not {peer}", self.client));
        }
        if token != self.token {
            // Whoever guesses is to guess slowly.
            std::thread::sleep(Duration::from_millis(300));
            return Err("the token is of another time or host".into());
        }
        let most = &self.most;
        let left_s = self.until.saturating_duration_since(Instant::now()).as_secs_f64();
        if ask.port != most.port {
            Err(format!("it allows port {}, not port {}", most.port, ask.port))
        } else if ask.users > most.users {
            Err(format!("it allows {} users, not {}", most.users, ask.users))
        } else if ask.rate > most.rate {
            Err(format!(
                "it allows {} lines a second, not {}: give --max-rate",
                most.rate, ask.rate
            ))
        } else if ask.seconds > most.seconds {
            Err(format!(
                "it allows {:.0} seconds, not {:.0}",
                most.seconds, ask.seconds
            ))
        } else if left_s <= 0.0 {
            Err("its time is over".into())
        } else {
            Ok(())
        }
    }
}

/// Standard error may be closed.
fn note(what: &str) {
    let _ = writeln!(io::stderr(), "satline-terminal: {what}");
}

/// `satline-terminal allow`: prints the entry for the list, then answers.
pub fn serve(options: &AllowOptions) -> Result<(), Error> {
    let most = Ask {
        port: options.port,
        users: options.max_users,
        rate: options.max_rate,
        seconds: options.max_time as f64 / 1e9,
    };
    let until = Duration::from_nanos(options.until as u64);
    let wrong = |error: io::Error| {
        let what = format!("--listen: cannot listen on {}: {error}", options.listen);
        Error::input(what, "name an address of this host and a free port")
    };
    let owner = Owner::new(options.listen, options.client, most, until).map_err(wrong)?;
    let mut out = io::stdout();
    let entry = owner.entry(&options.listen.ip().to_string());
    let _ = out.write_all(entry.as_bytes()).and_then(|()| out.flush());
    owner
        .run()
        .map_err(|error| Error::failure(format!("cannot answer: {error}"), ""))
}
