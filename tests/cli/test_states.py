"""`satline analyse states`: what each user did in the last seconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_now import USERS, WIDE, make
from rich.cells import cell_len

from satline.cli import run
from satline.live import PARTS
from satline.live._states import _state

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
NAMES = [name for name, _, _ in PARTS]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("now") / "now.satline")


@pytest.fixture
def states(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "80")

    def shown(*arguments: object, code: int = 0) -> str:
        assert run(["states", *map(str, arguments)]) == code, capsys.readouterr().err
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return shown


def test_percentages_are_those_of_the_accounts(made: Path, states: Callable[..., str]) -> None:
    content = json.loads(states(made, "--json"))
    found = {state["user"]: state for state in content["users"]}
    assert set(found) == set(USERS)
    for user, (run_, cpu, page, io, eligible, dormant) in USERS.items():
        active = run_ + cpu + page + io + eligible
        assert found[user]["active"] == pytest.approx(active, abs=1e-6)
        assert found[user]["dormant"] == pytest.approx(dormant, abs=1e-6)
        if not active:
            assert set(found[user]["parts"].values()) == {None}
            continue
        wanted = dict(
            zip((n for n in NAMES if n != "user_throttled"), (run_, cpu, page, io, eligible), strict=True)
        )
        for name, part in wanted.items():
            assert found[user]["parts"][name] == pytest.approx(part / active, abs=1e-6)
        assert found[user]["parts"]["user_throttled"] is None
    assert content["everybody"]["dormant"] == pytest.approx(1.2 / 3, abs=1e-6)


def test_the_table_fits_and_shows_hostile_names_as_text(made: Path, states: Callable[..., str]) -> None:
    text = states(made, "--once")
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<b>\\x1b[31m[red]" in text
    assert WIDE[:3] not in text
    assert "2 active, 1 dormant all the time" in " ".join(text.split())
    assert "accumulated by the source" in text
    assert "Missing: held back by the quota" in text
    assert "More than 100 %" not in text


def test_who_stands_first_is_asked_for(made: Path, states: Callable[..., str]) -> None:
    def order(*options: str) -> list[str]:
        lines = states(made, "--once", *options).splitlines()
        return [line[:4] for line in lines if line.startswith(("anna", "<b>"))]

    assert order() == ["anna", "<b>\\"]
    assert order("--sort", "page") == ["<b>\\", "anna"]
    assert order("--sort", "name") == ["<b>\\", "anna"]
    assert order("--top", "1") == ["anna"]


def test_where_it_was_sampled_it_says_so(tmp_path: Path, states: Callable[..., str]) -> None:
    from satline.recording import RecordingWriter, describe

    path = tmp_path / "sampled.satline"
    describe.create(path, "test")
    with RecordingWriter(path, "monitor") as writer:
        for k in range(12):
            at = {"time_ns": (1_700_000_000 + k) * 10**9, "monotonic_ns": k * 10**9}
            writer.write_rows("system", [{**at, "sample": k}])
            waits = {"tasks_page_wait": 0, "tasks_io_wait": k % 2}
            row = {"user": "anna", "processes": 1, "cpu_us": 250_000 * k, **waits}
            writer.write_rows("user", [{**at, **row}])
    describe.end(path, "complete")
    text = " ".join(states(path).split())
    assert "page, I/O: sampled task states: no accumulated times here." in text
    assert "run: accumulated by the source." in text
    content = json.loads(states(path, "--json"))
    assert content["users"][0]["parts"]["user_run"] == pytest.approx(1 / 3, abs=0.05)
    assert content["users"][0]["parts"]["user_cpu_wait"] is None


def test_without_users_the_reasons_are_told(tmp_path: Path, states: Callable[..., str]) -> None:
    from satline.recording import RecordingWriter, describe

    path = tmp_path / "none.satline"
    describe.create(path, "test")
    with RecordingWriter(path, "import") as writer:
        for k in range(3):
            at = {"time_ns": (1_700_000_000 + k) * 10**9, "monotonic_ns": k * 10**9}
            writer.write_rows("system", [{**at, "sample": k}])
    describe.end(path, "complete")
    text = " ".join(states(path).split())
    assert "0 active" in text
    assert "Missing: running (not recorded: user_cpu_us)." in text


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=len(NAMES), max_size=len(NAMES)))
def test_parts_make_a_whole_and_what_is_missing_stays_so(values: list[float | None]) -> None:
    state = _state("x", dict(zip(NAMES, values, strict=True)), None)
    told = [part for part in state.parts.values() if part is not None]
    if state.active:
        assert sum(told) == pytest.approx(1)
        assert all((state.parts[n] is None) == (v is None) for n, v in zip(NAMES, values, strict=True))
    else:
        assert told == []
