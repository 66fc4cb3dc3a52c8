//! Commands of users of an HTTP service: requests.

use std::collections::BTreeMap;

use satline_program::Error;

use super::CommandKey;
use super::check::{Place, template};
use super::template::{Subject, Template};
use crate::draws::Filling;

/// What is sent, and which answer is the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    path: Template,
    headers: Vec<(String, Template)>,
    body: Option<Template>,
    /// None: any below 400.
    status: Option<u16>,
}

impl Request {
    /// True if its answer has no body.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    pub fn is_right(&self, status: u16) -> bool {
        self.status.map_or(status < 400, |right| right == status)
    }

    /// The request of one user, one time. `host`: as the line names it.
    pub fn fill(
        &self,
        host: &str,
        cookie: Option<&str>,
        subject: Subject<'_>,
        random: &mut Filling<'_>,
    ) -> String {
        let path = self.path.fill(subject, random);
        let mut text = format!("{} {path} HTTP/1.1\r\n", self.method);
        let mut set = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\r\n"));
        let given = |name: &str| {
            self.headers
                .iter()
                .any(|(have, _)| have.eq_ignore_ascii_case(name))
        };
        let agent = concat!("satline-terminal/", env!("CARGO_PKG_VERSION"));
        for (name, value) in [("Host", host), ("User-Agent", agent), ("Accept", "*/*")] {
            if !given(name) {
                set(name, value);
            }
        }
        for (name, value) in &self.headers {
            set(name, &value.fill(subject, random));
        }
        if let Some(cookie) = cookie.filter(|_| !given("Cookie")) {
            set("Cookie", cookie);
        }
        let body = self.body.as_ref().map(|body| body.fill(subject, random));
        if body.is_some() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            set(
                "Content-Length",
                &body.as_ref().map_or(0, String::len).to_string(),
            );
        }
        text.push_str("\r\n");
        text.push_str(&body.unwrap_or_default());
        text
    }
}

/// From the keys of a command; `http`: the line leads to an HTTP service, where every command is a request and no other is.
pub(super) fn request(key: &CommandKey, http: bool, place: &Place<'_>) -> Result<Option<Request>, Error> {
    let hint =
        "write request = \"GET /path\" on a line to http://HOST:PORT, and input = \"text\" on every other";
    let Some(text) = key.request.as_ref().filter(|_| http && key.input.is_none()) else {
        let of_requests =
            key.request.is_some() || key.headers.is_some() || key.body.is_some() || key.status.is_some();
        if http || of_requests || key.input.is_none() {
            let what = "a command is a request over HTTP, and else an input";
            return Err(place.wrong(if of_requests { "request" } else { "input" }, what, hint));
        }
        return Ok(None);
    };
    let (method, path) = text.split_once(' ').unwrap_or(("", ""));
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte))
    };
    if !token(method)
        || !path.starts_with('/')
        || path.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return Err(place.wrong("request", format!("{text:?} is no method and path"), hint));
    }
    if key.prompt.is_some() {
        return Err(place.wrong("prompt", "an HTTP answer says itself where it ends", "remove it"));
    }
    if key.status.is_some_and(|status| !(200..600).contains(&status)) {
        return Err(place.wrong("status", "is not between 200 and 599", "for example status = 302"));
    }
    let none = BTreeMap::new();
    let headers = key.headers.as_ref().unwrap_or(&none).iter().map(|(name, value)| {
        let framing = ["content-length", "transfer-encoding", "connection"];
        if !token(name) || framing.contains(&name.to_ascii_lowercase().as_str()) {
            let what = format!("{name:?} is no header that may be set");
            return Err(place.wrong(
                "headers",
                what,
                "remove it; the length of a body is set by itself",
            ));
        }
        Ok((name.clone(), template(value, "headers", place)?))
    });
    let body = key
        .body
        .as_deref()
        .map(|text| Template::parse(text).map_err(|what| place.wrong("body", what, hint)));
    Ok(Some(Request {
        method: method.to_owned(),
        path: template(path, "request", place)?,
        headers: headers.collect::<Result<_, _>>()?,
        body: body.transpose()?,
        status: key.status,
    }))
}

#[cfg(test)]
mod tests {
    use super::Filling;
    use crate::random::{Purpose, stream};
    use crate::workload::{Subject, parse};

    fn workload(command: &str) -> String {
        format!(
            "name = \"w\"\nline = {{ to = \"http://127.0.0.1:80\" }}\n[[script]]\nname = \"s\"\n[[script.command]]\nclass = \"c\"\n{command}\n"
        )
    }

    #[test]
    fn a_request_is_written_out() {
        let text = workload(
            "request = \"POST /log-on?u={number}\"\nheaders = { Accept = \"text/plain\", X-U = \"{user}\" }\nbody = \"é={number}\\n\"\nstatus = 302",
        );
        let workload = parse(&text, "w.toml", None).unwrap();
        let request = workload.scripts[0].commands[0].request.clone().unwrap();
        let subject = Subject {
            user: "user-007",
            number: 7,
        };
        let sent = request.fill(
            "h:80",
            Some("a=1"),
            subject,
            &mut Filling::Independent(&mut stream(1, 7, Purpose::Input)),
        );
        let agent = env!("CARGO_PKG_VERSION");
        assert_eq!(
            sent,
            format!(
                "POST /log-on?u=7 HTTP/1.1\r\nHost: h:80\r\nUser-Agent: satline-terminal/{agent}\r\nAccept: text/plain\r\nX-U: user-007\r\nCookie: a=1\r\nContent-Length: 5\r\n\r\né=7\n"
            )
        );
        assert!(request.is_right(302) && !request.is_right(200) && !request.is_head());
    }

    #[test]
    fn wrong_requests_name_their_key() {
        for (command, key) in [
            ("input = \"x\"", "input"),
            ("request = \"GET\"", "request"),
            ("request = \"GET x\"", "request"),
            ("request = \"G(T /x\"", "request"),
            ("request = \"GET /a b\"", "request"),
            ("request = \"GET /\\n\"", "request"),
            ("request = \"GET /\"\ninput = \"x\"", "request"),
            ("request = \"GET /\"\nstatus = 99", "status"),
            ("request = \"GET /\"\nheaders = { \"a b\" = \"x\" }", "headers"),
            ("request = \"GET /\"\nheaders = { a = \"x\\r\\ny\" }", "headers"),
            (
                "request = \"GET /\"\nheaders = { Content-Length = \"3\" }",
                "headers",
            ),
            ("request = \"GET /\"\nbody = \"{pick:}\"", "body"),
        ] {
            let error = parse(&workload(command), "w.toml", None).unwrap_err();
            assert!(
                error.exit_code() == 2 && error.message.contains(key) && !error.hint.is_empty(),
                "{command}: {error}"
            );
        }
        let terminal = workload("request = \"GET /\"").replace("to = \"http://127.0.0.1:80\"", "");
        assert!(
            parse(&terminal, "w.toml", None)
                .unwrap_err()
                .message
                .contains("request")
        );
    }
}
