//! A line over TCP: plain, for line protocols, with telnet on it, or under TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use super::telnet::{self, Telnet};
use super::tls::{Client, Text, Tls};
use super::{Protocol, Received, connecting};
use crate::poll::later;

/// What may wait to be sent, bytes: more is only reached by a server that asks without end and never reads.
const OUT_LIMIT: usize = 64 * 1024;

/// One connection; it never blocks.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    connecting: bool,
    /// What is sent before the connection stands goes with it.
    eager: bool,
    telnet: Option<Telnet>,
    tls: Option<Tls>,
    /// The server repeats what is typed; None: as telnet agrees, and else not.
    echo: Option<bool>,
    out: Vec<u8>,
}

impl Socket {
    /// Begins to connect; `establish` tells when it stands.
    pub fn connect(
        address: SocketAddr,
        protocol: Protocol,
        echo: Option<bool>,
        tls: Option<&Client>,
    ) -> io::Result<Self> {
        let tls = tls.map(Client::connection).transpose()?;
        Ok(Self {
            stream: connecting::begin(address)?,
            connecting: true,
            eager: protocol == Protocol::Http,
            telnet: (protocol == Protocol::Telnet).then(Telnet::default),
            tls,
            echo,
            out: Vec::new(),
        })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// True once connected, with TLS where there is to be; the error if it cannot be.
    pub fn establish(&mut self) -> io::Result<bool> {
        if self.connecting {
            if !connecting::is_connected(&self.stream)? {
                return Ok(false);
            }
            self.connecting = false;
        }
        if self.stands() { Ok(true) } else { self.shake() }
    }

    fn stands(&self) -> bool {
        !self.connecting && self.tls.as_ref().is_none_or(Tls::is_up)
    }

    /// Goes on with TLS's handshake; true when it is done.
    fn shake(&mut self) -> io::Result<bool> {
        let mut came = [0u8; 4096];
        while let Some(tls) = &mut self.tls {
            let done = tls.shake(&mut self.out);
            // Also what says to the server that it is not believed.
            let flushed = self.flush();
            if done? {
                return flushed.map(|()| true);
            }
            flushed?;
            match self.stream.read(&mut came) {
                Ok(0) => {
                    let what = "closed the line in the handshake of TLS";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                Ok(got) => self.tls.iter_mut().for_each(|tls| tls.feed(&came[..got])),
                Err(error) if later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub fn is_telnet(&self) -> bool {
        self.telnet.is_some()
    }

    /// Something waits for the other end to take it.
    pub fn wants_to_write(&self) -> bool {
        self.connecting || !self.out.is_empty()
    }

    pub fn echoes(&self) -> bool {
        self.echo
            .unwrap_or_else(|| self.telnet.as_ref().is_some_and(Telnet::echoes))
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        if self.tls.is_some() {
            return self.receive_encrypted(buffer);
        }
        let got = match self.stream.read(buffer) {
            Ok(0) => return Received::Ended("closed the line".into()),
            Ok(got) => got,
            Err(error) if later(&error) => return self.flush().map_or_else(ended, |()| Received::Later),
            Err(error) => return ended(error),
        };
        let Some(telnet) = &mut self.telnet else {
            return Received::Data(got);
        };
        let length = telnet.receive(&mut buffer[..got], &mut self.out);
        if self.out.len() > OUT_LIMIT {
            return Received::Ended("negotiates without end".into());
        }
        self.flush().map_or_else(ended, |()| Received::Data(length))
    }

    fn receive_encrypted(&mut self, buffer: &mut [u8]) -> Received {
        let Some(tls) = &mut self.tls else {
            return Received::Later;
        };
        if !tls.has_news() {
            let share = Tls::share_of(buffer.len());
            match self.stream.read(&mut buffer[..share]) {
                Ok(0) => return Received::Lost("cut the line without TLS's word that it ends".into()),
                Ok(got) => tls.feed(&buffer[..got]),
                Err(error) if later(&error) => return self.flush().map_or_else(ended, |()| Received::Later),
                Err(error) => return ended(error),
            }
        }
        let waits = self.out.len();
        let text = tls.read(buffer, &mut self.out);
        let over = tls.is_over();
        // A long request may wait; what OpenSSL adds of its own may not pile up.
        if self.out.len() > waits.max(OUT_LIMIT) {
            return Received::Ended("negotiates without end".into());
        }
        let flushed = self.flush();
        match text {
            Text::Some(got) => {
                if over {
                    // Its end was taken off the socket with the text: the poll is to tell it all the same.
                    let _ = self.stream.shutdown(Shutdown::Read);
                }
                Received::Data(got)
            }
            Text::None => flushed.map_or_else(ended, |()| Received::Later),
            Text::Closed => Received::Ended("closed the line".into()),
            Text::Failed(why) => Received::Lost(format!("lost the line: {why}")),
        }
    }

    /// Sends text; false: not now, and nothing of it was taken.
    pub fn send(&mut self, text: &[u8]) -> io::Result<bool> {
        self.flush()?;
        let ready = self.stands() && self.out.is_empty();
        if !(ready || self.eager) {
            return Ok(false);
        }
        if let Some(tls) = &mut self.tls {
            tls.send(text, &mut self.out)?;
        } else if self.telnet.is_some() {
            telnet::encode(text, &mut self.out);
        } else {
            self.out.extend_from_slice(text);
        }
        // What does not go now goes as soon as it can.
        self.flush()?;
        Ok(true)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.resume(&mut self.out)?;
        }
        while !self.connecting && !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// TLS is ended with a word, which tells the server that the line was not cut.
impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&mut self.out);
            let _ = self.flush();
        }
    }
}

fn ended(error: io::Error) -> Received {
    Received::Lost(format!("lost the line: {error}"))
}

/// Makes a connection with TLS and ends it, so that what is wrong with it is known before anything starts.
///
/// The error is `InvalidData` where the server's certificate is not believed, or it speaks no TLS.
pub fn try_out(address: SocketAddr, tls: &Client, patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    let mut socket = Socket::connect(address, Protocol::Tcp, None, Some(tls))?;
    while !socket.establish()? {
        if began.elapsed() > patience {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
