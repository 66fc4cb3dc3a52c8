//! The answers of an HTTP/1.1 server [RFC 9110, 9112]: where each ends, its status, its cookies.

/// Longest head of an answer, bytes, and most headers in it.
const HEAD_LIMIT: usize = 64 * 1024;
const HEADERS: usize = 128;
/// Most cookies that a session keeps; further ones are not taken.
const COOKIES: usize = 100;

/// How the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// The length of the next chunk is to come.
    ChunkHead,
    /// So many bytes of the chunk are to come, its line end included.
    Chunk(u64),
    /// What may follow the last chunk, up to an empty line.
    Trailer,
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Head,
    Body(Body),
    Done,
}

/// Reads the answers of one session and keeps its cookies.
#[derive(Debug)]
pub struct Answer {
    state: State,
    /// A part that cannot be read yet: the head, or the line before a chunk.
    held: Vec<u8>,
    bodiless: bool,
    status: Option<u16>,
    /// The server closes the connection after this answer.
    closes: bool,
    cookies: Vec<(String, String)>,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            state: State::Idle,
            held: Vec::new(),
            bodiless: false,
            status: None,
            closes: false,
            cookies: Vec::new(),
        }
    }
}

impl Answer {
    /// A request is about to be sent; `bodiless`: by its method (HEAD) its answer has no body.
    pub fn begin(&mut self, bodiless: bool) {
        (self.state, self.status, self.closes) = (State::Head, None, false);
        self.bodiless = bodiless;
        self.held.clear();
    }

    /// Status of the answer, once its head has been read.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub fn closes(&self) -> bool {
        self.closes
    }

    /// The server has closed the connection: true if that ends the answer.
    pub fn closed(&mut self) -> bool {
        if self.state == State::Body(Body::UntilClose) {
            self.state = State::Done;
        }
        self.is_done()
    }

    /// What the header Cookie is to hold; None: nothing.
    pub fn cookie(&self) -> Option<String> {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Takes in what has come; `body` gets the parts of the body. The error says what is no HTTP.
    pub fn feed(&mut self, mut data: &[u8], mut body: impl FnMut(&[u8])) -> Result<(), String> {
        while !data.is_empty() {
            match self.state {
                State::Idle => return Err("sent something before it was asked".into()),
                State::Done => return Err("sent more than its answer".into()),
                State::Head => data = self.head(data)?,
                State::Body(Body::UntilClose) => {
                    body(data);
                    data = &[];
                }
                State::Body(Body::Length(left)) => {
                    let part = data.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    body(&data[..part]);
                    data = &data[part..];
                    self.state = self.length(left - part as u64);
                }
                State::Body(Body::Chunk(left)) => {
                    let part = data.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    // The last two bytes are the line end.
                    let text = part.min(usize::try_from(left - 2.min(left)).unwrap_or(usize::MAX));
                    body(&data[..text]);
                    data = &data[part..];
                    let left = left - part as u64;
                    let next = if left == 0 {
                        Body::ChunkHead
                    } else {
                        Body::Chunk(left)
                    };
                    self.state = State::Body(next);
                }
                State::Body(Body::ChunkHead) => {
                    let Some(line) = self.line(&mut data)? else {
                        return Ok(());
                    };
                    self.state = State::Body(match httparse::parse_chunk_size(&line) {
                        Ok(httparse::Status::Complete((_, 0))) => Body::Trailer,
                        Ok(httparse::Status::Complete((_, size))) if size < u64::MAX - 2 => {
                            Body::Chunk(size + 2)
                        }
                        _ => return Err("sent a chunk without its length".into()),
                    });
                }
                State::Body(Body::Trailer) => {
                    let Some(line) = self.line(&mut data)? else {
                        return Ok(());
                    };
                    if matches!(&line[..], b"\r\n" | b"\n") {
                        self.state = State::Done;
                    }
                }
            }
        }
        Ok(())
    }

    fn length(&self, left: u64) -> State {
        if left == 0 {
            State::Done
        } else {
            State::Body(Body::Length(left))
        }
    }

    /// A whole line with its end, taken out of `data`; None: the rest of it is to come.
    fn line(&mut self, data: &mut &[u8]) -> Result<Option<Vec<u8>>, String> {
        let end = data.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let (part, rest) = data.split_at(end.unwrap_or(data.len()));
        self.held.extend_from_slice(part);
        *data = rest;
        if self.held.len() > HEAD_LIMIT {
            return Err("sent a line without end".into());
        }
        Ok(end.map(|_| std::mem::take(&mut self.held)))
    }

    /// Takes in some of the head; gives what comes after it.
    fn head<'a>(&mut self, data: &'a [u8]) -> Result<&'a [u8], String> {
        let before = self.held.len();
        self.held.extend_from_slice(data);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let held = std::mem::take(&mut self.held);
        let length = match response.parse(&held) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if held.len() > HEAD_LIMIT => {
                return Err("sent a head without end".into());
            }
            Ok(httparse::Status::Partial) => {
                self.held = held;
                return Ok(&[]);
            }
            Err(error) => return Err(format!("answered with no HTTP: {error}")),
        };
        let status = response.code.unwrap_or(0);
        // 100 and 103 come before the answer.
        if !(100..200).contains(&status) {
            self.status = Some(status);
            self.judge(status, response.version == Some(1), response.headers)?;
        }
        Ok(&data[length - before..])
    }

    fn judge(
        &mut self,
        status: u16,
        persistent: bool,
        headers: &[httparse::Header<'_>],
    ) -> Result<(), String> {
        self.closes = !persistent;
        let (mut length, mut coding) = (None, None);
        for header in headers {
            let value = std::str::from_utf8(header.value).unwrap_or("").trim();
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                let given: u64 = value
                    .parse()
                    .map_err(|_| "has no number as Content-Length".to_owned())?;
                if length.is_some_and(|length| length != given) {
                    return Err("has two lengths".into());
                }
                length = Some(given);
            } else if is("transfer-encoding") {
                coding = Some(value.to_ascii_lowercase());
            } else if is("connection") {
                let words = || value.split(',').map(str::trim);
                if words().any(|word| word.eq_ignore_ascii_case("close")) {
                    self.closes = true;
                } else if words().any(|word| word.eq_ignore_ascii_case("keep-alive")) {
                    self.closes = false;
                }
            } else if is("set-cookie") {
                self.take_cookie(value);
            }
        }
        self.state = if self.bodiless || matches!(status, 204 | 304) {
            State::Done
        } else if let Some(coding) = coding {
            match coding.rsplit(',').next().map(str::trim) {
                Some("chunked") => State::Body(Body::ChunkHead),
                _ => State::Body(Body::UntilClose),
            }
        } else {
            length.map_or(State::Body(Body::UntilClose), |length| self.length(length))
        };
        if self.state == State::Body(Body::UntilClose) {
            self.closes = true;
        }
        Ok(())
    }

    /// Keeps, replaces or, where its age is over, forgets a cookie. Its path and its date are not looked at: a session has one server.
    fn take_cookie(&mut self, text: &str) {
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let over = parts.any(|part| {
            let age = part
                .split_once('=')
                .filter(|(key, _)| key.eq_ignore_ascii_case("max-age"));
            age.is_some_and(|(_, age)| age.trim().parse::<i64>().is_ok_and(|age| age <= 0))
        });
        self.cookies.retain(|(have, _)| have != name.trim());
        if !over && self.cookies.len() < COOKIES && !text.contains(char::is_control) {
            self.cookies
                .push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body, and whether the answer is done, when the bytes come in these pieces.
    fn read(answer: &mut Answer, pieces: &[&[u8]]) -> Result<(String, bool), String> {
        let mut body = Vec::new();
        for piece in pieces {
            answer.feed(piece, |part| body.extend_from_slice(part))?;
        }
        Ok((String::from_utf8_lossy(&body).into_owned(), answer.is_done()))
    }

    const ANSWERS: [(&str, u16, &str, bool); 6] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            200,
            "hello",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n",
            200,
            "hello",
            false,
        ),
        (
            "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            404,
            "",
            true,
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
            204,
            "",
            false,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
        (
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi",
            200,
            "hi",
            false,
        ),
    ];

    proptest! {
        #[test]
        fn answers_end_where_they_end_however_they_are_cut(which in 0..ANSWERS.len(), cuts in prop::collection::vec(0usize..120, 0..4)) {
            let (text, status, body, closes) = ANSWERS[which];
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let mut answer = Answer::default();
            answer.begin(false);
            prop_assert_eq!(read(&mut answer, &pieces), Ok((body.to_owned(), true)));
            prop_assert_eq!((answer.status(), answer.closes()), (Some(status), closes));
            prop_assert!(answer.feed(b"x", |_| ()).is_err(), "more than the answer");
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300), head in any::<bool>()) {
            let mut answer = Answer::default();
            answer.begin(false);
            if head {
                answer.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", |_| ()).unwrap();
            }
            let _ = answer.feed(&bytes, |_| ());
        }
    }

    #[test]
    fn a_body_may_last_until_the_connection_closes_and_head_has_none() {
        let mut answer = Answer::default();
        answer.begin(false);
        assert_eq!(
            read(&mut answer, &[b"HTTP/1.1 200 OK\r\n\r\nall"]),
            Ok(("all".into(), false))
        );
        assert!(answer.closed() && answer.is_done() && answer.closes());
        answer.begin(true);
        assert_eq!(
            read(&mut answer, &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"]),
            Ok((String::new(), true))
        );
        answer.begin(false);
        assert!(!answer.closed(), "nothing has come");
    }

    #[test]
    fn what_is_no_http_is_said() {
        for wrong in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ] {
            let mut answer = Answer::default();
            answer.begin(false);
            assert!(read(&mut answer, &[wrong.as_bytes()]).is_err(), "{wrong}");
        }
        assert!(Answer::default().feed(b"HTTP", |_| ()).is_err(), "nobody asked");
    }

    #[test]
    fn cookies_are_kept_replaced_and_forgotten() {
        let mut answer = Answer::default();
        assert_eq!(answer.cookie(), None);
        for (header, held) in [
            ("a=1; Path=/; HttpOnly", Some("a=1")),
            ("b=2", Some("a=1; b=2")),
            ("a=3; Max-Age=60", Some("b=2; a=3")),
            ("b=; max-age=0", Some("a=3")),
            ("nonsense", Some("a=3")),
            ("a=; Max-Age=-1", None),
        ] {
            answer.begin(false);
            let text = format!("HTTP/1.1 204 None\r\nSet-Cookie: {header}\r\n\r\n");
            assert_eq!(read(&mut answer, &[text.as_bytes()]), Ok((String::new(), true)));
            assert_eq!(answer.cookie().as_deref(), held, "{header}");
        }
    }
}
