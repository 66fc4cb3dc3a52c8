"""Designed studies on the real kernel: killed between runs and within them, they go on; nothing is left."""

import csv
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from documents import read

from satline.errors import InputError
from satline.recording import Recording

from .conftest import WAIT_S, Satline, wait_for

pytestmark = [pytest.mark.system, pytest.mark.slow]

STUDY = """title = "tiny"
workload = "compute"
[load]
users = [3]
ramp_seconds = 0.3
warmup_seconds = 0.5
window_seconds = 3
[limits]
processors = 1
memory = "128 MB"
swap = "32 MB"
[monitor]
interval_seconds = 0.5
[prepare]
commands = ['"$SATLINE_PYTHON" "$SATLINE_SHARE/programs/make_files.py" . 1 200000 text --text']
[[factor]]
name = "cluster"
setting = "knobs.page_cluster"
levels = [0, 2]
[[factor]]
name = "quota"
setting = "limits.cpu_quota_processors"
levels = [0.6, 1.0]
[design]
seed = 3
repeat_late = 5
"""


@pytest.fixture
def page_cluster() -> str:
    path = Path("/proc/sys/vm/page-cluster")
    try:
        before = path.read_text()
        path.write_text(before)
    except OSError as error:
        pytest.skip(f"page-cluster cannot be set here: {error}")
    return before


def start(satline: Satline, *options: str) -> None:
    (satline.directory / "x.toml").write_text(STUDY)
    satline.start("study", "x.toml", "--out", "out", "--scratch", str(satline.scratch), *options)


def ended(satline: Satline) -> tuple[int, str]:
    output, _ = satline.started[-1].communicate(timeout=4 * WAIT_S)
    return satline.started[-1].returncode, output


def complete(satline: Satline) -> list[Path]:
    """Recordings of runs that have ended."""
    found = []
    for path in sorted((satline.directory / "out/runs").glob("*.satline")):
        # A run that is begun anew may take its recording away meanwhile.
        with suppress(InputError):
            description = Recording.open(path).description
            if description["recording"].get("end_reason") == "complete":
                found.append(path)
    return found


def is_clean(satline: Satline, page_cluster: str, run: str = "*") -> bool:
    """Nothing is left; of control groups `run`'s, or, where it is not known, any: others have some too."""
    return (
        list(satline.scratch.iterdir()) == []
        and list(satline.state.glob("satline/*.ledger")) == []
        and not list(Path("/sys/fs/cgroup").glob(f"*/satline-{run}"))
        and Path("/proc/sys/vm/page-cluster").read_text() == page_cluster
    )


def test_a_design_killed_between_and_within_runs_goes_on_and_leaves_nothing(
    satline: Satline, page_cluster: str
) -> None:
    start(satline)
    wait_for(lambda: len(complete(satline)) >= 1, "the first run's end")
    satline.started[-1].kill()  # between two runs, or early in the second
    satline.started[-1].communicate()
    wait_for(lambda: is_clean(satline, page_cluster), "the janitor")
    first = {path: Recording.open(path).description["recording"]["id"] for path in complete(satline)}
    assert len(first) == 1

    start(satline)
    satline.run_id()
    wait_for(lambda: _has_users(satline), "users of the second run")
    satline.started[-1].kill()
    satline.started[-1].communicate()
    wait_for(lambda: is_clean(satline, page_cluster), "the janitor")
    assert len(complete(satline)) == 1

    start(satline)
    wait_for(lambda: len(complete(satline)) >= 2, "the second run's end")
    run = satline.run_id()
    satline.started[-1].send_signal(signal.SIGINT)
    status, output = ended(satline)
    assert status == 130, output
    assert "runs are done; the same command with --output out goes on" in output
    assert is_clean(satline, page_cluster, run)

    start(satline, "--json")
    status, output = ended(satline)
    assert status == 0, output
    assert " of 4 runs are there already" in output
    result = read(output[output.index("\n{") :])
    assert len(result["runs"]) == 4
    assert result["failed"] == {}
    assert result["missing"] == []
    for path, name in first.items():
        description = Recording.open(path).description
        assert description["recording"]["id"] == name  # not run again
        assert "flags" in description["study"]["design"]
    assert is_clean(satline, page_cluster)
    for path in complete(satline):
        description = Recording.open(path).description
        wanted = description["study"]["design"]["levels"]
        assert description["system_under_test"]["knobs"]["page_cluster"] == int(wanted["cluster"])
        assert description["system_under_test"]["limits"]["cpu_quota_processors"] == float(wanted["quota"])
    rows = list(csv.DictReader((satline.directory / "out/results.csv").open()))
    assert {row["class"] for row in rows} >= {"all", "chain"}
    assert (satline.directory / "out/report.html").stat().st_size > 10_000
    assert len(list((satline.directory / "out/aside").iterdir())) >= 1


def _has_users(satline: Satline) -> bool:
    return any((satline.directory / "out/runs").glob("002-*/segments/transaction/*.seg"))


def test_a_window_is_waited_for_and_a_series_ends_at_its_peak(satline: Satline) -> None:
    text = STUDY[: STUDY.index("[[factor]]")].replace(
        "users = [3]", 'users = [1, 2, 8, 8, 8, 8, 8]\nuntil = "peak"'
    )
    (satline.directory / "x.toml").write_text(text)
    satline.start("study", "x.toml", "--out", "p.satline", "--scratch", str(satline.scratch), "--json")
    status, output = ended(satline)
    assert status == 0, output
    result = read(output[output.index("\n{") :])
    assert result["peak"]["per_minute"] > 0
    assert result["windows"] >= 3
    recording = Recording.open(satline.directory / "p.satline")
    if "interactions have not grown" in output:
        assert "ended by itself" in recording.description["annotation"][0]["text"]
        assert result["windows"] < 7
    assert recording.description["recording"]["end_reason"] == "complete"
