"""`satline analyse device`: one device, and bounds on who used it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_now import HOSTILE, IOS, make
from rich.cells import cell_len

from satline.cli import run
from satline.present.device import _machine_areas, _usage

Capture = pytest.CaptureFixture[str]
MACHINE = """
[[paging_area]]
device = "drum"
cylinders = 96
[[paging_area]]
devices = ["swap-a", "swap-b"]
purpose = "swap"
first_cylinder = 430
cylinders = 20
tier = 1
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("now") / "now.satline")


@pytest.fixture
def device(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "80")

    def shown(*arguments: object, code: int = 0) -> str:
        assert run(["device", *map(str, arguments)]) == code, capsys.readouterr().err
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return shown


def test_its_figures_are_those_recorded(made: Path, device: Callable[..., str]) -> None:
    content = json.loads(device("disk", made, "--json"))
    figures = {figure["variable"]: figure for figure in content["figures"]}
    # A third of the thirty seconds had work.
    assert figures["device_rate"]["mean"] == pytest.approx(8 / 3)
    assert figures["device_rate"]["largest"] == pytest.approx(8)
    assert figures["device_response"]["mean"] == pytest.approx(0.005)
    assert figures["device_pend"]["mean"] == pytest.approx(0.001)
    assert figures["device_queue"]["largest"] == pytest.approx(0.04)
    missing = dict(content["missing"])
    assert missing["disconnect: seek and latency"] == "not recorded: disconnect_us, requests"
    assert content["facts"] == {"kind": "block", "size_bytes": 2**30, "priority": None, "samples": 31}


def test_who_used_it_lies_between_bounds(made: Path, device: Callable[..., str]) -> None:
    content = json.loads(device("disk", made, "--json"))
    assert content["carried"] == {"I/Os": pytest.approx(0.8)}
    users = {usage["user"]: usage for usage in content["users"]}
    assert set(users) == {user for user, rate in IOS.items() if rate}
    anna = users["anna"]
    # Nine a second for ten of thirty seconds; the other device can have had two of them at most.
    assert anna["everywhere"] == pytest.approx(3)
    assert anna["expected"] == pytest.approx(2.4)
    assert anna["least"] == pytest.approx(7 / 3)
    assert anna["most"] == pytest.approx(8 / 3)


def test_a_hostile_name_is_found_and_shown_as_text(made: Path, device: Callable[..., str]) -> None:
    text = device(HOSTILE, made)
    assert "\x1b" not in text
    assert "Device <b>\\x1b[31m[red]\\u202eeve: block, 1 GiB" in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "Areas on it: the recording tells of none." in text


def test_a_device_that_is_not_there_is_told_with_those_that_are(
    made: Path, device: Callable[..., str]
) -> None:
    error = device("dsk", made, code=2)
    assert "no device dsk" in error
    assert "hint: did you mean disk?" in error
    assert "\x1b" not in device("zzz", made, code=2)
    assert "choose other hours" in device("disk", made, "--to", "2001-01-01", code=2)


@pytest.mark.parametrize(
    ("name", "areas"),
    [
        ("drum", ["paging area, cylinders 0 to 95"]),
        ("drum-2", ["paging area, cylinders 0 to 95"]),
        ("swap-b-1", ["swap area, cylinders 430 to 449, tier 1"]),
        ("files", []),
    ],
)
def test_areas_are_read_from_the_machine_file(name: str, areas: list[str]) -> None:
    assert list(_machine_areas(MACHINE, name)) == areas
    assert list(_machine_areas("no toml [", name)) == []


@settings(deadline=None)
@given(st.data())
def test_however_the_work_is_spread_the_bounds_hold(data: st.DataObject) -> None:
    rate = st.floats(0, 100)
    users = data.draw(st.lists(st.tuples(rate, rate), min_size=1, max_size=6))
    here = sum(on for on, _ in users)
    everywhere = here + sum(off for _, off in users)
    if not here:
        return
    rates = {str(k): on + off for k, (on, off) in enumerate(users)}
    for usage in _usage("I/Os", "per second", here, everywhere, rates):
        on = users[int(usage.user)][0]
        assert usage.least is not None
        assert usage.most is not None
        assert usage.least - 1e-6 <= on <= usage.most + 1e-6
        assert usage.least - 1e-6 <= usage.expected <= usage.most + 1e-6


def test_what_is_counted_elsewhere_bounds_nothing() -> None:
    (written,) = _usage("bytes written", "bytes/s", 5.0, 6.0, {"anna": 4.0})
    assert (written.least, written.most, written.expected) == (None, None, pytest.approx(10 / 3))
    (more,) = _usage("bytes read", "bytes/s", 5.0, 6.0, {"anna": 7.0})
    assert (more.least, more.most, more.expected) == (None, None, 5.0)
