//! What a client says when it ends, and which setting is behind it.

use super::causes;

/// Part of what the client says, whether it had a session then (None: either), and what is behind it.
const CAUSES: [(&str, Option<bool>, &str); 7] = [
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", None, causes::CHANGED),
    ("Host key verification failed", None, causes::UNKNOWN),
    ("Permission denied", Some(false), causes::NO_KEY),
    ("ession open refused", Some(false), causes::MAX_SESSIONS),
    (
        "MaxStartups",
        Some(false),
        "sshd's MaxStartups (10:30:100 unless set) is less than the log-ons under way: lower log_ons_at_once, or raise it",
    ),
    ("kex_exchange_identification", Some(false), causes::MAX_STARTUPS),
    ("PTY allocation request failed", None, causes::NO_TERMINAL),
];

/// The end of a sentence: what the client said, and what is behind it; `stood`: it had a session.
pub fn explain(said: &str, stood: bool) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // A changed key is told in a frame of many lines.
    let quoted: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !line.starts_with('@'))
        .collect();
    let mut text = match quoted.last() {
        Some(_) => format!(": {}", quoted[quoted.len().saturating_sub(2)..].join(" ")),
        None => String::new(),
    };
    let cause = CAUSES
        .iter()
        .find(|(part, when, _)| said.contains(part) && when.is_none_or(|when| when == stood));
    if let Some((_, _, cause)) = cause {
        text = format!("{text} ({cause})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn causes_are_named() {
        for (said, word) in [
            (
                "No ED25519 host key is known for [127.0.0.1]:22 and you have requested strict checking.\nHost key verification failed.\n",
                "get it from its owner",
            ),
            (
                "@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                "somebody may stand between",
            ),
            ("load@h: Permission denied (publickey).", "authorized_keys"),
            (
                "mux_client_request_session: session request failed: Session open refused by peer",
                "MaxSessions",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host",
                "MaxStartups",
            ),
        ] {
            let text = explain(said, false);
            assert!(text.contains(word) && text.starts_with(": "), "{text}");
        }
        assert_eq!(explain("", true), "");
        assert_eq!(
            explain("\u{1b}[2Jodd\n", false),
            ": \u{1b}[2Jodd",
            "the face makes it harmless"
        );
        assert!(!explain("Permission denied", true).contains("authorized_keys"));
    }
}
