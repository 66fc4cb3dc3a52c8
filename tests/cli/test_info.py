"""`satline info`: contents, load range, what a recording can answer."""

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from satline.cli import run
from satline.diagnosis import RULES, suffices
from satline.importers import Sink
from satline.recording import Recording, RecordingWriter, contents, describe, seal

pytestmark = pytest.mark.slow

T0 = 1_795_000_000 * 10**9
EVIL = "\x1b[31mann\n"


def made(path: Path, readings: int = 900, most: int = 8, *, gap: bool = False, runs: int = 1) -> Path:
    """A host of `most` users, 2 s apart; the first k of them work for a while, then fewer or more."""
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    sink.missing("system.swap_in_pages", "no column was mapped to it", "a mapped column of page-ins")
    number = np.arange(readings)
    active = 1 + (number // 30) % most
    time = T0 + number * 2_000_000_000
    if gap:
        time[readings // 2 :] += 600_000_000_000
    busy = np.cumsum(active * 100_000)
    parts = np.array_split(number, runs)
    for part in parts:
        sink.begin_run()
        at = time[part]
        sink.table("system", at, {"context_switches": busy[part], "users_in_queue": active[part]})
        both = np.repeat(at, 2)
        cpu = {"processor": np.tile(np.array(["0", "1"], dtype=object), len(part))}
        for column, of in (
            ("user_us", busy),
            ("system_us", busy // 9),
            ("idle_us", number * 2_000_000 - busy),
        ):
            cpu[column] = np.repeat(of[part], 2)
        sink.table("processor", both, cpu)
        names = np.array([EVIL, *(f"u{k}" for k in range(1, most))], dtype=object)
        used = np.stack([np.cumsum((active > k) * 200_000) for k in range(most)], axis=1)
        sink.table(
            "user",
            np.repeat(at, most),
            {"user": np.tile(names, len(part)), "cpu_us": used[part].ravel()},
        )
    sink.finish()
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["info", *arguments]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    content = json.loads(shown(capsys, str(path), "--json"))
    assert isinstance(content, dict)
    return content


def test_contents_loads_and_answers_are_shown_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, str(made(tmp_path / "host.satline", gap=True, runs=1)))
    assert max(map(len, text.splitlines())) <= max(80, len(str(tmp_path / "host.satline")))
    assert "900 readings of host web1" in text
    assert "every 2 s" in text
    assert "1 gap, 10 min 2 s in all" in text
    assert "active_users*" in text
    assert "partly" in text
    assert "\x1b" not in text
    assert "\\x1b[31mann\\n" in text


def test_the_range_of_load_is_that_of_the_observations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = as_json(capsys, made(tmp_path / "host.satline"))
    axes = {axis["axis"]: axis for axis in content["axes"]}
    assert content["load_axis"] == "active_users"
    assert (axes["active_users"]["low"], axes["active_users"]["high"]) == (1.0, 8.0)
    assert axes["in_queue"]["classes"] >= 1
    assert 3.5 <= axes["in_queue"]["median"] <= 5.5
    assert "users" not in axes  # no study set them
    assert content["interval_s"] == 2.0


def test_runs_and_gaps_are_told_apart(tmp_path: Path) -> None:
    found = contents(Recording.open(made(tmp_path / "host.satline", gap=True, runs=3)))
    assert [run.readings for run in found.runs] == [300, 300, 300]
    assert [(gap.begins_ns, gap.seconds) for gap in found.gaps] == [(T0 + 449 * 2_000_000_000, 602.0)]
    assert found.readings == 900


def test_tables_name_their_entities_and_the_columns_that_have_values(tmp_path: Path) -> None:
    tables = {t.name: t for t in contents(Recording.open(made(tmp_path / "host.satline"))).tables}
    assert tables["user"].entities == 8
    assert tables["user"].names[0] == EVIL
    assert tables["user"].columns == ("user", "cpu_us")
    assert tables["system"].entities is None
    assert tables["processor"].rows == 1800


def test_every_rule_is_judged_or_its_want_is_told(tmp_path: Path) -> None:
    found = suffices(Recording.open(made(tmp_path / "host.satline")))
    assert [r.rule for r in found.rules] == [rule.name for rule, _ in RULES]
    for rule in found.rules:
        assert rule.judgeable is (rule.why == "")
        assert rule.judgeable or rule.missing or "not recorded" not in rule.why
        assert bool(rule.missing) is bool(rule.would_need)
    by_name = {r.rule: r for r in found.rules}
    assert by_name["cpu_bound"].judgeable
    assert not by_name["quota_bound"].judgeable
    assert "throttled_periods" in by_name["quota_bound"].missing


def test_what_the_source_says_it_lacks_is_named_as_what_would_tell_more(tmp_path: Path) -> None:
    found = suffices(Recording.open(made(tmp_path / "host.satline")))
    paging = next(r for r in found.rules if r.rule == "paging_bound")
    assert not paging.judgeable
    assert "a mapped column of page-ins" in paging.would_need


def test_questions_without_transactions_are_answered_by_what_there_is(tmp_path: Path) -> None:
    questions = {q.question: q for q in suffices(Recording.open(made(tmp_path / "host.satline"))).questions}
    assert "user mode alone" in questions["What is the throughput?"].why
    response = questions["How long do users wait for a response?"]
    assert not response.answerable
    assert response.advice


def test_a_narrow_range_of_load_cannot_show_saturation(tmp_path: Path) -> None:
    found = suffices(Recording.open(made(tmp_path / "host.satline", most=1)))
    questions = {q.question: q for q in found.questions}
    assert questions["How full was everything?"].answerable
    saturates = questions["Where does it saturate?"]
    assert not saturates.answerable
    assert saturates.advice
    assert "nothing that was recorded was short" in questions["What holds it back?"].why


def test_a_recording_without_readings_is_described_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.satline"
    describe.create(path, "satline record")
    with RecordingWriter(path, "study") as writer:
        writer.write_rows("event", [{"source": "study", "event": "stopped", "text": "x"}])
    text = shown(capsys, str(path))
    assert "0 readings" in text
    assert "no two samples" in text
    assert "No load axis has values" in text
    content = as_json(capsys, path)
    assert content["load_axis"] is None
    assert content["interval_s"] is None


def test_what_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(tmp_path / "nothing.satline")]) == 2
    assert "no such recording" in capsys.readouterr().err
    (tmp_path / "table.csv").write_text("N,X\n1,20\n")
    assert run(["info", str(tmp_path / "table.csv")]) == 2
    said = capsys.readouterr().err
    assert "table.csv: not a directory, so no recording" in said
    assert "`satline import table.csv`" in said


def test_users_who_were_there_and_idle_are_a_load_of_nothing_and_rules_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "idle.satline"
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    sink.begin_run()
    at = T0 + np.arange(40) * 2_000_000_000
    sink.table("system", at, {"context_switches": np.arange(40), "tasks_runnable": np.full(40, 1)})
    sink.table("user", at, {"user": np.full(40, "0", dtype=object), "cpu_us": np.full(40, 500)})
    idle = {"idle_us": np.arange(40) * 2_000_000, "user_us": np.zeros(40), "system_us": np.zeros(40)}
    sink.table("processor", at, {"processor": np.full(40, "0", dtype=object), **idle})
    sink.finish()
    found = suffices(Recording.open(path))
    assert "run_queue" in {axis.axis for axis in found.axes}
    questions = {q.question: q for q in found.questions}
    assert questions["Where does it saturate?"].why.startswith("there was no load: nobody was active")
    assert [r.rule for r in found.rules] == [rule.name for rule, _ in RULES]
    assert sum(r.judged for r in found.rules) > 0
    assert all(r.judgeable is (r.why == "") for r in found.rules)


def test_a_load_without_values_is_refused_by_who_answers_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "host.satline", gap=False, runs=1)
    for command in ("diagnose", "reduce"):
        assert run([command, str(path), "--load", "requests"]) == 2
        error = capsys.readouterr().err
        assert "--load requests: the recording has no values of it" in error
        assert "satline info" in error


def test_what_the_monitor_left_out_is_told_by_every_face(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "r")
    with (path / "sources" / "import.toml").open("a", encoding="utf-8") as source:
        source.write(
            '\n[[implausible]]\nsignal = "user.io_delay_us"\ncount = 3\nlargest_us = 837000000\n'
            'left_out_us = 2100000000\nreason = "a task cannot <have> gained so much"\n'
        )
    seal(path)
    whole = "3 values of user.io_delay_us, the largest 837 s, in all 2,100 s: a task cannot <have> gained"
    assert f"left out as impossible: {whole}" in " ".join(shown(capsys, str(path)).split())
    assert json.loads(shown(capsys, str(path), "--json"))["implausible"][0]["count"] == 3

    assert run(["diagnose", str(path)]) == 0
    folded = " ".join(capsys.readouterr().out.split())
    assert "Left out as impossible: 3 values of user.io_delay_us (--all lists them)." in folded
    assert run(["diagnose", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["implausible"] == [
        {
            "signal": "user.io_delay_us",
            "count": 3,
            "largest_s": 837.0,
            "sum_s": 2100.0,
            "reason": "a task cannot <have> gained so much",
        }
    ]
    assert run(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert escape(whole) in " ".join(page.split())
