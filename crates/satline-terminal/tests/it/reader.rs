//! Echo, response and prompt told apart in recorded and in hostile output.

use std::sync::Arc;

use regex::bytes::Regex;
use satline_terminal::reader::{EndedBy, Reader, Status, Wait};

const NONCE: &str = "0123abc";

fn prompt(status: u32) -> Vec<u8> {
    format!("\x1b]133;D;{status};aid={NONCE}\x07\x1b]133;A;aid={NONCE}\x07$ \x1b]133;B;aid={NONCE}\x07")
        .into_bytes()
}

fn begin() -> Vec<u8> {
    format!("\x1b]133;C;aid={NONCE}\x07").into_bytes()
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn wait(typed: &str) -> Wait {
    Wait {
        typed: Some(typed.as_bytes().to_vec()),
        keep_output: true,
        ..Wait::default()
    }
}

fn pattern(text: &str) -> Arc<Regex> {
    Arc::new(Regex::new(&format!("(?:{text})\\z")).unwrap())
}

/// A reader of a shell with marks whose first prompt stands.
fn shell() -> Reader {
    let mut reader = Reader::new(Some(NONCE), 200, true);
    reader.begin(Wait::for_prompt(&[]));
    reader.feed(&prompt(0), 1);
    assert_eq!(reader.status(), Status::Complete(1, EndedBy::Marks));
    reader
}

/// A reader of a shell without marks whose prompt `$ ` stands.
fn plain_shell() -> Reader {
    let mut reader = Reader::new(None, 200, true);
    reader.begin(Wait {
        patterns: vec![pattern(r"\$ ")],
        ..Wait::default()
    });
    reader.feed(b"welcome\r\n$ ", 1);
    assert_eq!(reader.status(), Status::Candidate(1));
    reader.settle();
    assert_eq!(reader.status(), Status::Complete(1, EndedBy::Pattern));
    reader
}

fn type_into(reader: &mut Reader, line: &str) {
    reader.begin(Wait {
        patterns: vec![pattern(r"\$ ")],
        ..wait(line)
    });
}

#[test]
fn a_shell_with_marks_cut_at_every_byte() {
    let stream = join(&[
        b"ls\r\n\x1b[?2004l\r",
        &begin(),
        b"\x1b[1;34mbin\x1b[0m\r\nlib\r\n",
        &prompt(3),
    ]);
    for cut in 0..=stream.len() {
        let mut reader = shell();
        reader.begin(wait("ls"));
        reader.sent();
        reader.feed(&stream[..cut], 10);
        reader.feed(&stream[cut..], 20);
        assert!(
            matches!(reader.status(), Status::Complete(_, EndedBy::Marks)),
            "cut at {cut}"
        );
        assert_eq!(reader.exit_status(), Some(3));
        assert_eq!(reader.output(), b"bin\nlib\n");
        assert_eq!(
            reader.output_bytes(),
            b"\x1b[1;34mbin\x1b[0m\r\nlib\r\n".len() as u64
        );
        let first = join(&[b"ls\r\n\x1b[?2004l\r", &begin(), b"\x1b[1;34mb"]).len();
        assert_eq!(
            reader.reaction_ns(),
            Some(if cut >= first { 10 } else { 20 }),
            "cut at {cut}"
        );
    }
}

#[test]
fn echo_is_no_reaction_and_an_empty_response_reacts_with_the_prompt() {
    let mut reader = shell();
    reader.begin(wait("true"));
    reader.feed(b"tru", 5);
    reader.sent();
    reader.feed(b"e\r\n", 6);
    reader.feed(&begin(), 7);
    assert_eq!((reader.status(), reader.reaction_ns()), (Status::Pending, None));
    reader.feed(&prompt(0), 9);
    assert_eq!(reader.status(), Status::Complete(9, EndedBy::Marks));
    assert_eq!((reader.reaction_ns(), reader.output_bytes()), (Some(9), 0));
}

#[test]
fn a_line_that_is_not_run_gives_no_begin_mark() {
    let mut reader = shell();
    reader.begin(wait("if ;"));
    reader.sent();
    reader.feed(b"if ;\r\n", 6);
    reader.feed(b"bash: syntax error\r\n", 8);
    reader.feed(&prompt(2), 9);
    assert_eq!(reader.status(), Status::Complete(9, EndedBy::Marks));
    assert_eq!((reader.reaction_ns(), reader.exit_status()), (Some(8), Some(2)));
    assert_eq!(reader.output(), b"bash: syntax error\n");
    assert_eq!(reader.output_bytes(), 20);
}

#[test]
fn a_prompt_redrawn_while_the_line_is_echoed_is_no_answer() {
    let mut reader = shell();
    reader.begin(wait("ls"));
    reader.sent();
    reader.feed(&join(&[b"l\r\x1b[K", &prompt(0), b"ls"]), 5);
    assert_eq!(reader.status(), Status::Pending);
    reader.feed(&join(&[b"\r\n", &begin(), b"x\r\n", &prompt(0)]), 6);
    assert_eq!(reader.status(), Status::Complete(6, EndedBy::Marks));
}

#[test]
fn output_that_looks_like_a_prompt_is_output() {
    let mut reader = shell();
    reader.begin(wait("cat log"));
    reader.sent();
    let foreign = b"\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07\x1b]133;D;0;aid=other\x07\x1b]133;B;aid=0123abcd\x07$ ";
    reader.feed(&join(&[b"cat log\r\n", &begin(), foreign]), 5);
    assert_eq!(reader.status(), Status::Pending);
    reader.feed(&prompt(0), 6);
    assert_eq!(reader.status(), Status::Complete(6, EndedBy::Marks));
    assert_eq!(reader.output_bytes(), foreign.len() as u64);
}

#[test]
fn nuls_broken_utf8_and_open_sequences_do_not_hide_the_prompt() {
    let hostile: [&[u8]; 6] = [
        b"\0\0\0",
        b"\xff\xfe\xc3",
        b"\x1b]0;never ended",
        b"\x1bPnever ended",
        b"\x1b[38;5",
        b"\x1b]133;D;0;aid=",
    ];
    for output in hostile {
        let mut reader = shell();
        reader.begin(wait("x"));
        reader.sent();
        reader.feed(&join(&[b"x\r\n", &begin(), output, &prompt(0)]), 5);
        assert_eq!(reader.status(), Status::Complete(5, EndedBy::Marks), "{output:?}");
    }
}

#[test]
fn a_huge_output_is_counted_and_not_kept() {
    let mut reader = plain_shell();
    type_into(&mut reader, "yes");
    reader.sent();
    reader.feed(b"yes\r\n", 5);
    let block = b"y\r\n$ \r\n".repeat(4096);
    for _ in 0..64 {
        reader.feed(&block, 6);
        assert_eq!(reader.status(), Status::Pending);
    }
    assert_eq!(reader.output().len(), satline_terminal::reader::OUTPUT_LIMIT);
    assert_eq!(reader.output_bytes(), 64 * block.len() as u64);
    reader.feed(b"$ ", 7);
    assert_eq!(reader.status(), Status::Candidate(7));
}

#[test]
fn a_pattern_shell_cut_at_every_byte() {
    // Readline redraws the line: carriage return, prompt and text again, erasing to the end, a colour.
    let stream = b"ec\r\x1b[K\x1b[1m$ \x1b[0mec\x08cho hi\r\nhi\r\nthere\r\n\x1b[32m$ \x1b[0m";
    let reaction = stream.windows(3).position(|part| part == b"\nhi").unwrap() + 2;
    for cut in 0..=stream.len() {
        let mut reader = plain_shell();
        type_into(&mut reader, "echo hi");
        reader.sent();
        reader.feed(&stream[..cut], 10);
        reader.feed(&stream[cut..], 20);
        let Status::Candidate(_) = reader.status() else {
            panic!("cut at {cut}: {:?}", reader.status())
        };
        reader.settle();
        assert_eq!(
            reader.reaction_ns(),
            Some(if cut >= reaction { 10 } else { 20 }),
            "cut at {cut}"
        );
        assert!(reader.output().starts_with(b"hi\nthere\n"), "cut at {cut}");
    }
}

#[test]
fn cat_echoes_twice_and_only_the_second_is_the_response() {
    let mut reader = Reader::new(None, 200, true);
    reader.begin(Wait {
        patterns: vec![pattern("b\n")],
        ..wait("a b")
    });
    reader.sent();
    reader.feed(b"a b\r\n", 5);
    assert_eq!((reader.status(), reader.reaction_ns()), (Status::Pending, None));
    reader.feed(b"a b\r\n", 6);
    assert_eq!(
        (reader.status(), reader.reaction_ns()),
        (Status::Candidate(6), Some(6))
    );
}

#[test]
fn without_echo_the_first_printable_character_is_the_reaction() {
    let mut reader = plain_shell();
    type_into(&mut reader, "secret");
    reader.sent();
    reader.feed(b"\r\n", 5);
    assert_eq!(reader.reaction_ns(), None, "a line end is none");
    reader.feed(b"  ok\r\n$ ", 6);
    assert_eq!(
        (reader.status(), reader.reaction_ns()),
        (Status::Candidate(6), Some(6))
    );
    let mut reader = plain_shell();
    type_into(&mut reader, "seen");
    reader.sent();
    reader.feed(b"so", 5);
    assert_eq!(
        reader.reaction_ns(),
        Some(5),
        "the second character is not what was typed"
    );
}

#[test]
fn what_only_looked_like_the_prompt_is_taken_back() {
    let mut reader = plain_shell();
    type_into(&mut reader, "x");
    reader.sent();
    reader.feed(b"x\r\nprice: 5 $ ", 5);
    assert_eq!(reader.status(), Status::Candidate(5));
    reader.feed(b"each\r\n", 6);
    assert_eq!(reader.status(), Status::Pending);
    reader.feed(b"$ ", 7);
    reader.feed(b"\x1b[0m", 8);
    assert_eq!(
        reader.status(),
        Status::Candidate(7),
        "an escape after the prompt does not make it later"
    );
}

#[test]
fn utf8_input_is_echo_character_by_character() {
    let mut reader = plain_shell();
    type_into(&mut reader, "echo größe");
    let echo = "echo größe\r\n".as_bytes();
    reader.sent();
    for byte in echo {
        reader.feed(&[*byte], 5);
    }
    assert_eq!(reader.reaction_ns(), None);
    reader.feed("größe\r\n$ ".as_bytes(), 6);
    assert_eq!(reader.reaction_ns(), Some(6));
    assert_eq!(reader.output_bytes(), "größe\r\n".len() as u64);
}

#[test]
fn a_line_wider_than_the_screen_ends_its_echo_with_the_line_end() {
    let line = "x".repeat(300);
    let mut reader = plain_shell();
    type_into(&mut reader, &line);
    reader.sent();
    reader.feed(b"<xxxxxxxxxxxxxxxxx", 5);
    reader.feed(b"\r>yyyy\r\n", 6);
    assert_eq!(reader.reaction_ns(), None);
    reader.feed(b"done\r\n$ ", 7);
    assert_eq!(reader.reaction_ns(), Some(7));
}

#[test]
fn a_program_with_its_own_prompt_inside_a_shell_with_marks() {
    let repl = || vec![pattern(">>> ")];
    let mut reader = shell();
    reader.begin(Wait {
        patterns: repl(),
        ..wait("python3")
    });
    reader.sent();
    reader.feed(&join(&[b"python3\r\n", &begin(), b"Python 3\r\n>>> "]), 5);
    reader.settle();
    assert_eq!(reader.status(), Status::Complete(5, EndedBy::Pattern));
    reader.begin(Wait {
        patterns: repl(),
        inside: true,
        ..wait("1+1")
    });
    reader.sent();
    reader.feed(b"1+1\r\n", 6);
    reader.feed(b"2\r\n>>> ", 7);
    reader.settle();
    assert_eq!(
        (reader.status(), reader.reaction_ns()),
        (Status::Complete(7, EndedBy::Pattern), Some(7))
    );
    reader.begin(Wait {
        inside: true,
        ..wait("exit()")
    });
    reader.sent();
    reader.feed(&join(&[b"exit()\r\n", &prompt(0)]), 8);
    assert_eq!(reader.status(), Status::Complete(8, EndedBy::Marks));
    // Not installed: the shell's own prompt comes instead of the program's.
    reader.begin(Wait {
        patterns: repl(),
        ..wait("python9")
    });
    reader.sent();
    reader.feed(
        &join(&[b"python9\r\n", &begin(), b"not found\r\n", &prompt(127)]),
        9,
    );
    assert_eq!(
        (reader.status(), reader.exit_status()),
        (Status::Complete(9, EndedBy::Marks), Some(127))
    );
}
