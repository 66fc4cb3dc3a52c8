"""The guide's table of reports by source agrees with recordings from these sources."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import source_table as table

from satline.errors import SatlineError
from satline.recording import Recording
from satline.systems.binaries import find_binary

slow = pytest.mark.slow


def found(recording: Recording) -> dict[str, str]:
    has = table.available(recording)
    return {report: table.cell(report, has) for report in table.reports()}


def program(name: str) -> None:
    try:
        find_binary(name)
    except SatlineError:
        pytest.skip(f"{name} is not built")


def test_every_report_and_every_source_is_in_the_table() -> None:
    told = table.told()
    assert tuple(told) == table.SOURCES
    for source, cells in told.items():
        assert list(cells) == table.reports(), source


@slow
def test_what_the_simulated_machine_gives(tmp_path: Path) -> None:
    program("satline-machine")
    assert found(table.simulated(tmp_path / "a.satline")) == table.told()["simulated"]


@slow
@pytest.mark.parametrize("source", table.ARCHIVES)
def test_what_an_archive_gives(tmp_path: Path, source: str) -> None:
    needs = {"PCP": "pmdumplog", "atop": "atop"}.get(source)
    if not table.SHARED.is_dir() or (needs and shutil.which(needs) is None):
        pytest.skip("the archive, or the program that reads it, is not here")
    recording = table.imported(tmp_path / "a.satline", table.SHARED / table.ARCHIVES[source])
    assert found(recording) == table.told()[source]


@slow
def test_this_host_gives_no_more_than_a_host_that_gives_all(tmp_path: Path) -> None:
    program("satline-monitor")

    def columns(text: str) -> int:
        return 10**6 if text == "yes" else 0 if text == "no" else int(text.partition(" ")[0])

    told = table.told()["Linux"]
    for report, text in found(table.monitored(tmp_path / "a.satline")).items():
        assert columns(text) <= columns(told[report]), report
