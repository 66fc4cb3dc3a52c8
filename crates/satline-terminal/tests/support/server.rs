//! Servers for the lines' tests: real sockets, one thread for each connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What each connection gets.
pub type Talk = dyn Fn(&mut Connection) -> std::io::Result<()> + Send + Sync;

/// A server on a free port of loopback.
pub struct Server {
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    deaf: Arc<AtomicBool>,
}

/// One connection, line by line.
pub struct Connection {
    pub stream: TcpStream,
    /// From 1.
    pub number: usize,
    rest: Vec<u8>,
}

impl Connection {
    pub fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next line up to `end`, without it; None: the other side has closed.
    pub fn line(&mut self, end: &[u8]) -> std::io::Result<Option<String>> {
        loop {
            if let Some(at) = self.rest.windows(end.len()).position(|part| part == end) {
                let line = self.rest[..at].to_vec();
                self.rest.drain(..at + end.len());
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            let mut buffer = [0u8; 4096];
            match self.stream.read(&mut buffer)? {
                0 => return Ok(None),
                got => self.rest.extend_from_slice(&buffer[..got]),
            }
        }
    }
}

impl Connection {
    /// Says the last of it: with it comes the end of the connection, so that nobody can ask again in between.
    pub fn say_last(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        // SAFETY: the bytes are as many as said. MSG_MORE holds them until the end goes out with them.
        let sent = unsafe {
            libc::send(
                self.stream.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_MORE,
            )
        };
        assert_eq!(usize::try_from(sent).ok(), Some(bytes.len()));
        self.stream.shutdown(std::net::Shutdown::Write)
    }

    /// Waits until the other side has read all that was said to it.
    pub fn until_read(&self) {
        let port = |address: std::net::SocketAddr| format!(":{:04X}", address.port());
        let (ours, theirs) = (
            port(self.stream.local_addr().unwrap()),
            port(self.stream.peer_addr().unwrap()),
        );
        super::eventually("all is read", || {
            let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
            // sl local_address rem_address st tx_queue:rx_queue …; each end of the connection has a line.
            let queues = |from: &str, to: &str| {
                let mut lines = connections
                    .lines()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>());
                let found =
                    lines.find(|word| word.len() > 4 && word[1].ends_with(from) && word[2].ends_with(to));
                found.and_then(|word| {
                    word[4]
                        .split_once(':')
                        .map(|(tx, rx)| (tx.to_owned(), rx.to_owned()))
                })
            };
            let unsent = queues(&ours, &theirs).is_some_and(|(tx, _)| tx != "00000000");
            let unread = queues(&theirs, &ours).is_some_and(|(_, rx)| rx != "00000000");
            !unsent && !unread
        });
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> std::io::Result<String> {
        while self.rest.len() < count {
            let mut buffer = [0u8; 4096];
            match self.stream.read(&mut buffer)? {
                0 => break,
                got => self.rest.extend_from_slice(&buffer[..got]),
            }
        }
        let text = self.rest.drain(..count.min(self.rest.len())).collect();
        Ok(String::from_utf8(text).unwrap_or_default())
    }
}

impl Server {
    pub fn new(talk: impl Fn(&mut Connection) -> std::io::Result<()> + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1", talk)
    }

    /// The same on another address.
    pub fn on(
        address: &str,
        talk: impl Fn(&mut Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            streams: Arc::default(),
            deaf: Arc::default(),
        };
        let (connections, streams) = (Arc::clone(&server.connections), Arc::clone(&server.streams));
        let (talk, deaf): (Arc<Talk>, _) = (Arc::new(talk), Arc::clone(&server.deaf));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if deaf.load(Ordering::SeqCst) {
                    return; // the listener closes: refused from now on
                }
                let number = connections.fetch_add(1, Ordering::SeqCst) + 1;
                stream.set_nodelay(true).unwrap();
                streams.lock().unwrap().push(stream.try_clone().unwrap());
                let talk = Arc::clone(&talk);
                std::thread::spawn(move || {
                    let mut connection = Connection {
                        stream,
                        number,
                        rest: Vec::new(),
                    };
                    let _ = talk(&mut connection);
                    let _ = connection.stream.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        server
    }

    /// Closes every connection, and refuses all further ones.
    pub fn kill(&self) {
        self.deaf.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}
