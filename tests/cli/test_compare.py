"""`satline compare` and `satline analyse expansion`: on recordings of all sorts, and on wrong input."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from satline.cli import run
from satline.recording import Recording, RecordingWriter, describe

pytestmark = pytest.mark.slow

MONDAY = 1_793_577_600  # 2026-11-02
DAY = 86400
HOSTILE = "<script>\x1b[31m"
Capture = pytest.CaptureFixture[str]


def rows_of(
    days: int, slow: float, heavy: float, seed: int, start: int, users: bool
) -> dict[str, list[dict[str, Any]]]:
    """Days of ten hours at a reading every five minutes; response is `slow` times the usual at any load."""
    chosen = random.Random(seed)
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": []}
    rows |= {"user": [], "transaction": []} if users else {}
    names = ["anna", HOSTILE, *(f"user-{k}" for k in range(10))]
    total: dict[str, float] = {}

    def add(name: str, amount: float) -> int:
        total[name] = total.get(name, 0.0) + amount
        return round(total[name])

    for day in range(days):
        height = heavy * chosen.lognormvariate(0, 0.1)
        for k in range(121):
            now = start + day * DAY + 8 * 3600 + 300 * k
            at = {"time_ns": now * 10**9, "monotonic_ns": now * 10**9}
            load = max(1, min(12, round(height * (4 + 3 * math.sin(k / 20)) + chosen.random())))
            busy = 300e6 * 0.07 * load
            rows["system"].append(
                {**at, "sample": 121 * day + k, "tasks_runnable": load + chosen.randrange(3)}
            )
            rows["processor"].append(
                {
                    **at,
                    "processor": "0",
                    "user_us": add("user", 0.8 * busy),
                    "system_us": add("system", 0.2 * busy),
                    "idle_us": add("idle", 300e6 - busy),
                }
            )
            if not users:
                continue
            for number, name in enumerate(names):
                cpu = add(name, busy / load if number < load else 0.0)
                rows["user"].append({**at, "user": name, "cpu_us": cpu, "processes": 1})
            for number in range(load):
                response = slow * 0.2 / (1 - load / 16) * chosen.lognormvariate(0, 0.3)
                begun = now * 10**9 - round((20 + 15 * number) * 1e9)
                rows["transaction"].append(
                    {
                        "time_ns": begun,
                        "monotonic_ns": begun,
                        "user": names[number],
                        "class": ("edit", HOSTILE)[number % 2],
                        "outcome": "ok",
                        "response_us": round(response * 1e6),
                        "cpu_us": 100_000 + chosen.randrange(1000),
                    }
                )
    return rows


Maker = Callable[..., Path]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    def made(
        name: str,
        days: int = 6,
        slow: float = 1.0,
        heavy: float = 1.0,
        seed: int = 1,
        start: int = MONDAY,
        users: bool = True,
        **host: Any,
    ) -> Path:
        path = tmp_path_factory.mktemp(name) / f"{name}.satline"
        describe.create(path, "test", host={"processors": 1, **host})
        with RecordingWriter(path, "monitor") as writer:
            for table, rows in rows_of(days, slow, heavy, seed, start, users).items():
                writer.write_rows(table, rows)
        return path

    return made


@pytest.fixture(scope="module")
def before(make: Maker) -> Path:
    return make("before", kernel="6.1")


@pytest.fixture(scope="module")
def after(make: Maker) -> Path:
    path = make("after", slow=0.7, heavy=1.4, seed=2, start=MONDAY + 14 * DAY, kernel="6.2")
    describe.annotate(path, f"second drum {HOSTILE}", time=datetime.fromtimestamp(MONDAY + 10 * DAY, UTC))
    return path


def compared(capsys: Capture, *arguments: object) -> dict[str, Any]:
    assert run(["compare", *map(str, arguments), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_a_gain_that_more_load_hides_is_found(before: Path, after: Path, capsys: Capture) -> None:
    found = compared(capsys, before, after)
    assert found["outcome"] == "fell"
    assert found["measure"] == "response"
    assert found["blocks"] == "days"
    relative = found["matched"]["relative"]
    assert relative["low"] < -0.3 < relative["high"]
    assert found["after"]["load_mean"] > 1.2 * found["before"]["load_mean"]
    assert [c["what"] for c in found["changes"] if c["kind"] == "configuration"] == ["kernel 6.1 → 6.2"]
    assert "cannot be told apart" in found["confounded"]
    assert found["hours"]["rose"] + found["hours"]["fell"] == len(found["hours"]["hours"])
    assert found["trade_off"]["at_throughput"]
    assert all(e["relative"]["value"] < 0 for e in found["trade_off"]["at_throughput"])


def test_processor_time_for_the_work_is_accounted(before: Path, after: Path, capsys: Capture) -> None:
    work = {(w["what"], w["name"]): w for w in compared(capsys, before, after)["work"]}
    edit = work["class", "edit"]
    assert edit["before"] == pytest.approx(0.1005, rel=0.01)
    assert edit["relative"]["low"] <= 0.005
    every = work["user", ""]
    assert every["before"] == pytest.approx(0.07, rel=0.05)
    assert work["transaction", "total_cpu"]["before"] == pytest.approx(21.0, rel=0.05)


def test_no_difference_says_what_would_have_been_missed(before: Path, make: Maker, capsys: Capture) -> None:
    same = make("same", seed=3, start=MONDAY + 14 * DAY)
    found = compared(capsys, before, same)
    assert found["outcome"] == "no-difference"
    assert 0 < found["matched"]["detectable"] < 0.3
    assert "would have been missed" in found["headline"]


def test_one_recording_is_cut(make: Maker, capsys: Capture) -> None:
    path = make("long", days=12)
    moment = MONDAY + 6 * DAY
    describe.annotate(path, "New Kernel", time=datetime.fromtimestamp(moment, UTC))
    at = compared(capsys, path, "--at", "2026-11-08T00:00")
    noted = compared(capsys, path, "--at-annotation", "new kernel")
    assert at["before"] == noted["before"]
    assert at["before"]["days"] == at["after"]["days"] == 6
    assert at["before"]["ends_s"] <= moment <= at["after"]["begins_s"]
    assert noted["changes"][0] == {
        "kind": "annotation",
        "what": "New Kernel",
        "when": "between",
        "time_s": moment,
    }


def test_without_transactions_the_queue_is_compared(make: Maker, capsys: Capture) -> None:
    plain = [make(f"sar-{k}", users=False, seed=k, start=MONDAY + 14 * DAY * k) for k in (0, 1)]
    found = compared(capsys, *plain)
    assert found["measure"] == "runnable_tasks"
    assert found["load_axis"] == "problem_state"
    assert found["outcome"] == "no-difference"


@pytest.mark.parametrize("more", [(), ("--full",)])
def test_the_text_fits_80_columns_and_shows_hostile_names(
    before: Path, after: Path, more: tuple[str, ...], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["compare", str(before), str(after), *more]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.startswith("Response at ")
    assert "second drum <script>\\x1b[31m" in shown
    assert max(cell_len(line) for line in shown.splitlines()) <= 80
    for title in ("At equal load", "At equal throughput", "Hour by hour", "Processor time", "What changed"):
        assert title in shown


def test_the_page_stands_by_itself(before: Path, after: Path, tmp_path: Path, capsys: Capture) -> None:
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    assert run(["compare", str(before), str(after), "--html", str(page), "--svg", str(pictures)]) == 0
    text = page.read_text()
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert text.count('class="plot"') == 4
    names = {"trade-off.svg", "load.svg", "difference.svg", "hours.svg"}
    assert {p.name for p in pictures.iterdir()} == names
    assert capsys.readouterr().err == ""


def test_a_measure_may_be_that_of_one_user(before: Path, after: Path, capsys: Capture) -> None:
    found = compared(capsys, before, after, "--measure", "user_cpu@anna")
    assert found["unit"] == "s/s"
    rows = (
        Recording.open(before)
        .connect()
        .execute('SELECT cpu_us FROM "user" WHERE "user" = \'anna\' ORDER BY time_ns')
    )
    cpu = [c for (c,) in rows.fetchall()]
    # Days are ten hours of 120 periods; a day's first reading has the last night before it.
    days = [cpu[121 * d : 121 * (d + 1)] for d in range(6)]
    used = sum(day[-1] - day[0] for day in days) / 1e6
    assert found["before"]["raw"] == pytest.approx(used / (6 * 36_000), rel=0.02)
    assert run(["compare", str(before), str(after), "--measure", f"user_cpu@{HOSTILE}"]) == 0
    shown = capsys.readouterr().out
    assert "user cpu of <script>" in shown
    assert "\x1b" not in shown


def fails(capsys: Capture, *arguments: object) -> str:
    assert run(["compare", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "hint: " in shown.err
    assert "\x1b" not in shown.err
    return shown.err


def test_wrong_input_is_told(before: Path, after: Path, make: Maker, tmp_path: Path, capsys: Capture) -> None:
    assert "two are compared" in fails(capsys, before)
    assert "on both sides" in fails(capsys, before, before)
    assert "no such recording" in fails(capsys, before, tmp_path / "nothing")
    assert "one side of the cut" in fails(capsys, before, "--at", "2031-01-01")
    assert "--at 'soon'" in fails(capsys, before, "--at", "soon")
    assert "recordings with a cut" in fails(capsys, before, after, "--at", "2026-11-05")
    assert "no annotations" in fails(capsys, before, "--at-annotation", "drum")
    assert "did you mean" in fails(capsys, before, after, "--measure", "respons")
    assert "--load mpl" in fails(capsys, before, after, "--load", "mpl")
    assert "--throughput response" in fails(capsys, before, after, "--throughput", "response")
    assert "its own light load" in fails(capsys, before, after, "--throughput", "work_rate")
    assert "for each device" in fails(capsys, before, after, "--measure", "device_busy")
    assert "did you mean user_cpu@" in fails(capsys, before, after, "--measure", "user_cpu@nobody")
    lacking = make("lacking", users=False, start=MONDAY + 14 * DAY)
    told = fails(capsys, before, lacking, "--measure", "response")
    assert "has no values of it" in told
    assert "all recordings have: runnable_tasks" in told


def test_an_empty_recording_is_told(before: Path, tmp_path: Path, capsys: Capture) -> None:
    empty = tmp_path / "empty.satline"
    describe.create(empty, "test", host={})
    assert "no two samples" in fails(capsys, before, empty)


def test_users_who_could_not_log_on_weaken_the_answer(before: Path, make: Maker, capsys: Capture) -> None:
    same = make("absent", seed=3, start=MONDAY + 14 * DAY)
    assert not any("log-on" in note for note in compared(capsys, before, same)["notes"])
    at = {"time_ns": (MONDAY + 14 * DAY) * 10**9, "monotonic_ns": 0}
    with RecordingWriter(same, "terminal") as writer:
        writer.write_rows("event", [{**at, "event": "log-on-failed", "text": f"{HOSTILE}: no prompt"}])
    notes = compared(capsys, before, same)["notes"]
    assert any(f"{same}: 1 log-on failed for good" in note for note in notes)


def test_too_short_a_side_never_gives_a_verdict(before: Path, make: Maker, capsys: Capture) -> None:
    short = make("short", days=1, slow=3.0, start=MONDAY + 14 * DAY)
    found = compared(capsys, before, short, "--hours", "9-10")
    assert found["outcome"] == "cannot-tell"
    assert "cannot tell" in found["headline"]


def test_names_replaced_by_different_keys_are_said(
    before: Path, after: Path, tmp_path: Path, capsys: Capture
) -> None:
    made = {}
    for source, key in ((before, "one"), (after, "one"), (after, "other")):
        copy = tmp_path / f"{source.stem}-{key}.satline"
        words = ["recording", "pseudonymise", source, copy, "--key", tmp_path / key]
        assert run([*map(str, words), *(["--make-key"] if not (tmp_path / key).exists() else [])]) == 0
        made[source.stem, key] = copy
    capsys.readouterr()
    same = compared(capsys, made["before", "one"], made["after", "one"])
    assert not any("different keys" in note for note in same["notes"])
    for second in (made["after", "other"], after):
        notes = compared(capsys, made["before", "one"], second)["notes"]
        assert sum("different keys" in note and str(second) in note for note in notes) == 1
    # Names have another order, and sums of floats another last digit.
    named = compared(capsys, before, after)["matched"]["relative"]["value"]
    assert same["matched"]["relative"]["value"] == pytest.approx(named, rel=1e-9)


def test_expansion_by_class_and_load(before: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["expansion", str(before), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["methods"].values()) == {"service"}
    whole = [r for r in found["rows"] if r["kind"] == ""]
    factors = [r["expansion"]["value"] for r in whole]
    assert factors == sorted(factors)
    for row in whole:
        assert row["expansion"]["value"] == pytest.approx(row["response_s"] / row["alone_s"], rel=0.02)
    assert run(["expansion", str(before)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert max(map(cell_len, shown.splitlines())) <= 80


def test_expansion_needs_transactions(make: Maker, capsys: Capture) -> None:
    assert run(["expansion", str(make("plain", users=False))]) == 2
    assert "no completed transactions" in capsys.readouterr().err
