"""Recordings → sessions: times by hand, edited lines, hostile files."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_sessions import AID, PROMPT, cast, mark, two_commands, typed, write

from satline.errors import InputError
from satline.workload._classes import Mapping, first_word
from satline.workload._events import SECRET, Terminal, read_asciicast
from satline.workload._extract import extract, open_terminal
from satline.workload._screen import typed_line
from satline.workload._session import Session, read_session, write_session

PER_EXAMPLE = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def session_of(path: Path, prompt: str | None = None) -> Session:
    return extract(open_terminal(path), Mapping(), prompt)


@pytest.mark.parametrize("version", [2, 3])
def test_times_are_those_of_the_keys_and_the_prompts(tmp_path: Path, version: int) -> None:
    session = session_of(write(tmp_path / "a.cast", cast(two_commands(), version)))
    first, second = session.lines
    assert (first.text, first.klass, first.status, first.characters) == ("date", "date", 0, 5)
    assert first.think_s is None  # the first prompt was not an answer's end
    assert first.output_bytes == len("noon\r\n")
    assert (second.text, second.klass, second.status) == ("ls -l", "ls", 1)
    assert second.think_s == pytest.approx(3.0)
    assert second.typing_s == pytest.approx(0.5)
    assert second.response_s == pytest.approx(2.0)
    assert second.output_bytes == len("a\r\nb\r\n")
    assert session.keys == "typed"


def test_without_keys_the_echo_tells(tmp_path: Path) -> None:
    events = [event for event in two_commands() if event[1] == "o"]
    second = session_of(write(tmp_path / "a.cast", cast(events))).lines[1]
    assert second.think_s == pytest.approx(3.0, abs=0.01)
    assert second.typing_s == pytest.approx(0.5, abs=0.01)
    assert second.response_s == pytest.approx(2.0, abs=0.01)


def test_without_marks_the_prompt_s_pattern_tells(tmp_path: Path) -> None:
    events = [
        (0.0, "o", "me> "),
        *typed(1.0, "date\r"),
        (1.5, "o", "noon\r\nme> "),
        *typed(4.5, "ls\r"),
        (5.0, "o", "a\r\nme> "),
    ]
    path = write(tmp_path / "a.cast", cast(events))
    with pytest.raises(InputError, match="no prompt"):
        session_of(path)
    first, second = session_of(path, "me> ").lines
    assert (first.text, second.text) == ("date", "ls")
    assert second.think_s == pytest.approx(3.0)
    assert first.output_bytes == len("noon\r\n")
    with pytest.raises(InputError, match="regular expression"):
        session_of(path, "(")


def test_lines_that_a_program_reads_are_lines_of_their_own(tmp_path: Path) -> None:
    events = [
        (0.0, "o", PROMPT),
        *typed(1.0, "calc\r"),
        (1.41, "o", mark("C") + "? "),
        *typed(3.41, "17\r"),
        (3.7, "o", "34\r\n? "),
        *typed(4.7, "q\r"),
        (4.9, "o", mark("D;0") + PROMPT),
    ]
    calc, first, last = session_of(write(tmp_path / "a.cast", cast(events))).lines
    assert (calc.text, calc.program) == ("calc", None)
    assert calc.response_s == pytest.approx(0.01)
    assert (first.text, first.klass, first.program, first.prompt) == ("17", "input to calc", "calc", "? ")
    assert first.think_s == pytest.approx(2.0)
    assert first.response_s == pytest.approx(0.09)
    assert first.output_bytes == len("34\r\n")
    assert (last.text, last.think_s) == ("q", pytest.approx(1.0))


def test_a_secret_is_told_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    events = [
        (0.0, "o", PROMPT),
        *typed(1.0, "sudo id\r"),
        (1.8, "o", mark("C") + "Password: "),
        (2.0, "m", SECRET),
        (3.0, "o", "\r\nroot\r\n" + mark("D;0") + PROMPT),
    ]
    (line,) = session_of(write(tmp_path / "a.cast", cast(events))).lines
    assert line.secret


def test_a_full_screen_program_is_one_command(tmp_path: Path) -> None:
    events = [
        (0.0, "o", PROMPT),
        *typed(1.0, "vi x\r"),
        (1.5, "o", mark("C") + "\x1b[?1049h~"),
        *typed(2.0, "ihello\r"),
        (3.0, "o", "\x1b[?1049l" + mark("D;0") + PROMPT),
    ]
    session = session_of(write(tmp_path / "a.cast", cast(events)))
    assert [(line.text, line.full_screen) for line in session.lines] == [("vi x", True)]
    assert "1 full-screen programs" in session.notes[0]


def test_marks_of_others_are_output(tmp_path: Path) -> None:
    events = two_commands()
    events[-1] = (events[-1][0], "o", "a\x1b]133;D;7\x07\x1b]133;A;aid=zz\x07b\r\n" + mark("D;1") + PROMPT)
    lines = session_of(write(tmp_path / "a.cast", cast(events))).lines
    assert [line.status for line in lines] == [0, 1]


@pytest.mark.parametrize(
    ("shown", "stands"),
    [
        ("ls -l", "ls -l"),
        ("lsx\b\x1b[K -l", "ls -l"),
        ("helo\b\x1b[1@l", "hello"),
        ("hexllo\b\b\b\b\x1b[1P\x1b[3C", "hello"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("one\r\x1b[4Ctwo", "two"),
        ("a\r\nb", "a\nb"),
        ("x" * 90, "x" * 90),
        ("ab\x1b]0;title\x07c", "abc"),
        ("\x1b[9999A\x1b[999999999D\b\b", ""),
    ],
)
def test_what_stands_after_editing(shown: str, stands: str) -> None:
    assert typed_line(shown, 80, 4) == stands


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("ls -l", "ls"),
        ("A=1 sudo /usr/bin/make -j2", "make"),
        ("; | >", "other"),
        ("'my tool' x", "my"),
        ("\x1b[31m", "31m"),
    ],
)
def test_first_words(line: str, word: str) -> None:
    assert first_word(line) == word


def test_classes_by_a_mapping() -> None:
    mapping = Mapping(other="rest", classes={"edit": ["vi", "sed *-i*"], "compile": ["make"]})
    found = [mapping.of(line) for line in ("vi x", "sed -i s/a/b/ x", "sed p x", "make")]
    assert found == ["edit", "edit", "rest", "compile"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ":1: neither"),
        ("{", ":1: no header"),
        ('{"version": 1}', ":1: version 1"),
        ('{"version": 3}\n[1, "o"]\n[1, "o", "x"]\n', ":2: not an event"),
        ('{"version": 3}\n[-1, "o", "x"]\n[1, "o", "x"]\n', ":2: the time"),
        ('{"version": 3}\n[NaN, "o", "x"]\n[1, "o", "x"]\n', ":2: the time"),
        ('{"version": 3}\n[1e400, "o", "x"]\n[1, "o", "x"]\n', ":2: the time"),
        ('{"version": 3}\n[' + "9" * 400 + ', "o", "x"]\n[1, "o", "x"]\n', ":2: the time"),
        ('{"version": 3}\n' + "[" * 100_000 + '\n[1, "o", "x"]\n', ":2: not an event"),
        ('{"version": 3}\n' + '[300000000, "o", "x"]\n' * 3, ":3: later than"),
        ('{"version": 3}\n[1, 2, "x"]\n[1, "o", "x"]\n', ":2: the event's kind"),
        ("0.1 5\nx 5\n0.1 5\n", ":2: not a line of times"),
        ("0.1 5\n0.1 99999999999999\n0.1 5\n", ":2: the count"),
        ("0.1 5\n1.2.3 5\n0.1 5\n", ":2: the delay"),
        ("O 0.1 x\n0.1 5\n", ":1: the count"),
    ],
)
def test_wrong_files_are_refused_with_their_line(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "typescript").write_bytes(b"Script started on now\nhello hello hello")
    path = write(tmp_path / "a", text)
    with pytest.raises(InputError) as caught:
        session_of(path)
    assert str(path) + place in caught.value.message
    assert caught.value.hint


def test_script_s_files_classic_and_advanced(tmp_path: Path) -> None:
    (tmp_path / "typescript").write_bytes("Script started on now\n$ date\r\nnöon\r\n$ \n".encode())
    path = write(tmp_path / "times", "0.5 2\n1.0 1\n0.2 3\n0.1 2\n0.3 7\n0.1 2\n")
    (line,) = session_of(path).lines
    assert (line.text, line.typing_s, line.response_s) == ("date", pytest.approx(0.3), pytest.approx(0.4))
    (tmp_path / "in.log").write_bytes(b"Script started on now\ndate\r")
    (tmp_path / "out.log").write_bytes((tmp_path / "typescript").read_bytes())
    times = "H 0.000000 OUTPUT_LOG out.log\nH 0.0 INPUT_LOG in.log\nH 0.0 COLUMNS 120\nO 0.5 2\nI 1.0 4\n"
    times += "O 0.1 4\nI 0.2 1\nO 0.0 2\nO 0.5 7\nO 0.1 2\nS 0.1 SIGWINCH ROWS=9 COLS=90\n"
    terminal = open_terminal(write(tmp_path / "advanced", times))
    assert terminal.columns == 120
    (line,) = extract(terminal, Mapping()).lines
    assert (line.text, line.typing_s, line.response_s) == ("date", pytest.approx(0.3), pytest.approx(0.6))
    with pytest.raises(InputError, match="no such file"):
        open_terminal(path, tmp_path / "nowhere")


@PER_EXAMPLE
@given(cut=st.integers(0, 2000))
def test_any_cut_of_an_asciicast_is_a_prefix_or_an_error(tmp_path: Path, cut: int) -> None:
    whole = cast(two_commands())
    path = write(tmp_path / "a.cast", whole[:cut])
    full = read_asciicast(tmp_path / "whole", whole)
    try:
        terminal = open_terminal(path)
    except InputError:
        assert cut < whole.index("\n") + 1
        return
    assert terminal.output == full.output[: len(terminal.output)]
    assert terminal.keys == full.keys[: len(terminal.keys)]


@PER_EXAMPLE
@given(data=st.binary(max_size=300), timing=st.binary(max_size=60), cut=st.integers(0, 90))
def test_no_bytes_crash_the_readers(tmp_path: Path, data: bytes, timing: bytes, cut: int) -> None:
    (tmp_path / "typescript").write_bytes(data)
    times = b"O 0.1 40\nO 0.1 9\nI 0.2 3\nO 0.5 20\nS 0.1 SIGWINCH ROWS=9 COLS=9\nO 0.1 99999\n"
    for content in (times[:cut], times[:cut] + timing, timing, data, b'{"version": 2}\n' + data):
        (tmp_path / "a").write_bytes(content)
        with contextlib.suppress(InputError):
            assert session_of(tmp_path / "a", r"\$ ").lines


@PER_EXAMPLE
@given(pieces=st.lists(st.text(alphabet="ab$ \r\n\b\x1b[]133;ABCDK\x07", max_size=12), max_size=25))
def test_no_output_crashes_the_extraction(pieces: list[str]) -> None:
    pieces = [piece.replace("133;", f"133;{'ABCD'[n % 4]};aid={AID}") for n, piece in enumerate(pieces)]
    terminal = Terminal("x", columns=8, aid=AID)
    for number, piece in enumerate(pieces):
        (terminal.keys if number % 3 == 1 else terminal.output).append((number * 0.1, piece))
    terminal.output += [(9.0, PROMPT), (9.5, "x" + mark("C") + "y" + mark("D;0"))]
    session = extract(terminal, Mapping())
    assert session.lines[-1].text.endswith("x")


def test_sessions_are_kept_whole_and_privately(tmp_path: Path) -> None:
    session = session_of(write(tmp_path / "a.cast", cast(two_commands())))
    path = tmp_path / "a.session.json"
    write_session(session, path)
    assert path.stat().st_mode & 0o077 == 0
    assert read_session(path) == session
    for wrong in ("", "[]", '{"format": "x"}', path.read_text().replace('"think_s": 3', '"think_s": -3')):
        path.write_text(wrong)
        with pytest.raises(InputError, match="session"):
            read_session(path)
