"""`satline record --budget`: above its budget the monitor leaves out detail, and says so."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from satline.recording import Recording
from satline.systems.binaries import find_binary

pytestmark = [pytest.mark.system, pytest.mark.slow]


def recorded(path: Path, *words: str) -> list[tuple[float, str]]:
    """Reductions in a recording of 24 s: whatever five samples a second cost, it is more than nothing."""
    command = [
        find_binary("satline-monitor"),
        "--recording",
        path,
        "--interval",
        "200ms",
        "--duration",
        "24s",
    ]
    subprocess.run([*command, *words], check=True)
    connection = Recording.open(path).connect(tables=["event"])
    found = connection.execute("SELECT value, text FROM event WHERE event = 'detail-reduced'").fetchall()
    connection.close()
    return found


def test_above_the_budget_detail_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.satline"
    ((percent, text),) = recorded(path, "--budget", "0.001", "--waits")
    assert percent > 0.001
    source = tomllib.loads((path / "sources/monitor.toml").read_text())
    assert f"{percent:.2f} % of one processor, budget 0.001 %" in text
    if "--waits is left out" in text:
        assert any("left out" in missing["reason"] for missing in source["missing"])
        assert source["sampling"]["interval_ms"] == 200
    else:
        assert text.endswith("a sample every 400 ms from now on")
        assert source["sampling"]["interval_ms"] == 400
    # A whole run, up to its end, in which samples may be lost on a busy host, but not half of them.
    assert source["sampling"]["samples"] + source["sampling"]["samples_lost"] >= 105


def test_below_the_budget_nothing_is_left_out(tmp_path: Path) -> None:
    assert recorded(tmp_path / "x.satline", "--budget", "100") == []
