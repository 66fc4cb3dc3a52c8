//! What is wrong with a server's certificate, or with its TLS, in words that somebody can act on.

use std::ffi::c_long;

/// OpenSSL's numbers of what it finds wrong (X509_V_ERR_…), and what that means of a server.
const CAUSES: [(&[c_long], &str); 5] = [
    (&[10], "has a certificate that has expired"),
    (&[9], "has a certificate that is not valid yet"),
    (&[62, 64], "has a certificate of another name, and not for"),
    (
        &[2, 18, 19, 20, 21],
        "has a certificate of an authority that is not known here",
    ),
    (&[23], "has a certificate that was revoked"),
];

/// The end of a sentence about the server; `found`: what is wrong with its certificate, `words`: OpenSSL's for the failure.
pub fn explain(found: Option<(c_long, String)>, words: &str, host: &str) -> String {
    let Some((code, said)) = found else {
        return format!("made no TLS connection (OpenSSL: {words})");
    };
    let cause = CAUSES.iter().find(|(codes, _)| codes.contains(&code));
    let text = cause.map_or("has a certificate that is not valid", |(_, text)| text);
    let name = if text.ends_with("not for") {
        format!(" {host}")
    } else {
        String::new()
    };
    format!("{text}{name} (OpenSSL: {said})")
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn causes_are_told_apart() {
        for (code, part) in [
            (10, "expired"),
            (9, "not valid yet"),
            (62, "not for h.example (OpenSSL: words)"),
            (64, "not for h.example"),
            (18, "not known here"),
            (19, "not known here"),
            (20, "not known here"),
            (7, "is not valid (OpenSSL: words)"),
        ] {
            let text = explain(
                Some((code, "words".into())),
                "certificate verify failed",
                "h.example",
            );
            assert!(text.contains(part), "{code}: {text}");
        }
        assert!(explain(None, "wrong version number", "h").contains("(OpenSSL: wrong version number)"));
    }
}
