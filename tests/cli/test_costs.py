"""What daily commands load and how often they read: the causes of their processor time, not the time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

from satline.cli import run
from satline.importers import Sink
from satline.recording import Recording, compact

HEAVY = ("altair", "jinja2", "pandas", "pydantic", "scipy", "statsmodels", "vl_convert")
LOADED = """
import sys
from satline.cli import run
code = run(sys.argv[1:])
print("loaded:", code, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording at rest of a host whose processors fill as users become active."""
    path = tmp_path_factory.mktemp("made") / "host.satline"
    number = np.arange(400)
    active = 1 + (number // 40) % 5
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    sink.begin_run()
    time = 1_795_000_000 * 10**9 + number * 2_000_000_000
    busy = np.cumsum(np.minimum(active * 800_000, 3_900_000) + number % 7)
    sink.table("system", time, {"context_switches": np.cumsum(active * 1000), "users_in_queue": active})
    sink.table(
        "processor",
        time,
        {
            "processor": ["all"] * len(number),
            "user_us": busy,
            "system_us": busy // 10,
            "idle_us": np.cumsum(4_000_000 - np.diff(busy, prepend=0) * 11 // 10),
        },
    )
    sink.finish()
    compact(path)
    return path


def loaded(*arguments: str) -> set[str]:
    """Packages that a fresh interpreter has loaded after a command that succeeded."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    _, code, *packages = done.stdout.splitlines()[-1].split()
    assert code == "0", done.stdout + done.stderr
    return set(packages)


def test_help_loads_no_library_that_computes() -> None:
    assert not loaded("--help") & {"duckdb", "numpy", "pyarrow", *HEAVY}


@pytest.mark.parametrize("command", ["info", "diagnose"])
def test_daily_commands_load_neither_scipy_nor_what_draws(command: str, host: Path) -> None:
    assert not loaded(command, str(host)) & set(HEAVY)


def test_a_report_is_drawn_without_altair_and_scipy(host: Path, tmp_path: Path) -> None:
    packages = loaded("report", str(host), "-o", str(tmp_path / "page.html"))
    assert "vl_convert" in packages
    assert not packages & {"altair", "pandas", "scipy", "statsmodels"}


@pytest.mark.parametrize(
    ("arguments", "reductions"), [(["diagnose"], 1), (["info"], 2), (["report", "-o", "page.html"], 1)]
)
def test_a_command_makes_one_database_and_reduces_once(
    arguments: list[str],
    reductions: int,
    host: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from satline.reduction import _reduce

    made: Counter[str] = Counter()
    connect, observe = duckdb.connect, _reduce.make_observations

    def connected(*given: object, **named: object) -> duckdb.DuckDBPyConnection:
        made["databases"] += 1
        return connect(*given, **named)  # type: ignore[arg-type]

    def observed(*given: object, **named: object) -> None:
        made["reductions"] += 1
        observe(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(duckdb, "connect", connected)
    monkeypatch.setattr(_reduce, "make_observations", observed)
    monkeypatch.chdir(tmp_path)
    assert run([arguments[0], str(host), *arguments[1:]]) == 0
    assert made == {"databases": 1, "reductions": reductions}


def test_small_tables_are_read_whole_once(host: Path) -> None:
    opened = Recording.open(host)
    first, second = opened.reading(), opened.reading()
    kinds = dict(first.execute("SELECT table_name, table_type FROM information_schema.tables").fetchall())
    assert kinds["system"] == "BASE TABLE"
    query = "SELECT count(*), sum(context_switches) FROM system"
    whole = opened.connect().execute(query).fetchall()
    assert first.execute(query).fetchall() == second.execute(query).fetchall() == whole
