"""Whole studies on the real kernel: what runs them, and what must be gone afterwards."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satline.errors import SatlineError
from satline.recording import Recording
from satline.systems import delay_accounting
from satline.systems.binaries import find_binary
from satline.systems.undo import marked_processes

TREE = Path(__file__).resolve().parents[2]
WAIT_S = 120.0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First, so that one worker waits for these while the others have the rest to do."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)


@pytest.fixture(autouse=True)
def one_at_a_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """They all switch the host's delay accounting, but for those with a machine of their own."""
    if request.node.get_closest_marker("own_machine"):
        yield
        return
    with (Path(tempfile.gettempdir()) / "satline-system-tests.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Satline:
    """Runs `satline` with a state directory and a scratch directory of its own."""

    def __init__(self, directory: Path, binaries: Path) -> None:
        self.directory = directory
        self.state = directory / "state"
        self.scratch = directory / "scratch"
        self.scratch.mkdir()
        self.recording = directory / "x.satline"
        self.home = directory
        path = os.pathsep.join([str(TREE / "python"), *(path for path in sys.path if path)])
        self.environment = {
            **os.environ,
            "PYTHONPATH": path,
            "XDG_STATE_HOME": str(self.state),
            "SATLINE_LOCK_DIR": str(self.state),
            "SATLINE_BIN_DIR": str(binaries),
        }
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in a session of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", "satline.cli", *arguments],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def study(self, text: str) -> subprocess.Popen[str]:
        """Start a study of this text."""
        (self.directory / "x.toml").write_text(text)
        return self.start("study", "x.toml", "--out", str(self.recording), "--scratch", str(self.scratch))

    def run_id(self) -> str:
        """The id of the run under way, once it has a ledger."""
        process = self.started[-1]

        def find() -> list[Path]:
            assert process.poll() is None, process.communicate()[0]
            return list(self.state.glob("satline/*.ledger"))

        found = wait_for(find, "a ledger")
        assert isinstance(found, list)
        return str(found[0].stem)

    def member(self, name: str, within_s: float = WAIT_S) -> int:
        """Number of the run's process whose program is `name`, once there is one."""
        marker = f"SATLINE_RUN={self.run_id()}"

        def find() -> list[int]:
            return [pid for pid in marked_processes(marker) if _program(pid) == name]

        found = wait_for(find, name, within_s)
        assert isinstance(found, list)
        return int(found[0])

    def left(self, run_id: str) -> list[str]:
        """What is still there of a run."""
        found = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/satline-{run_id}")]
        found += [str(path) for path in self.scratch.iterdir()]
        found += [str(path) for path in self.state.glob("satline/*.ledger")]
        found += [line for line in Path("/proc/swaps").read_text().splitlines() if run_id in line]
        found += [str(pid) for pid in marked_processes(f"SATLINE_RUN={run_id}")]
        return found

    def wait_until_windows(self, count: int) -> None:
        """Wait until that many windows were measured."""
        wait_for(lambda: self.windows() >= count, f"{count} windows")

    def windows(self) -> int:
        """How many windows were measured so far."""
        if not (self.recording / "recording.toml").exists():
            return 0
        connection = Recording.open(self.recording).connect()
        try:
            row = connection.execute("SELECT count(*) FROM event WHERE event = 'window-end'").fetchone()
        finally:
            connection.close()
        return 0 if row is None else int(row[0])


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def samples_without(recording: Recording) -> tuple[float, float]:
    """How long the emulator's transactions go on before the monitor's first sample and after its last, s.

    Both are below zero where its samples span them. A user may still type after the last sample, until the
    next one would have come: on a busy machine as much later as any other did.
    """
    connection = recording.connect()
    first_s, last_s, apart_s = connection.execute(
        "SELECT ((SELECT min(monotonic_ns) FROM system) - min(monotonic_ns)) / 1e9, "
        "(max(monotonic_ns) - (SELECT max(monotonic_ns) FROM system)) / 1e9, "
        "(SELECT max(apart) FROM (SELECT monotonic_ns - lag(monotonic_ns) OVER (ORDER BY monotonic_ns)"
        " AS apart FROM system)) / 1e9 FROM transaction"
    ).fetchall()[0]
    connection.close()
    return float(first_s), float(last_s) - float(apart_s)


def wait_for(condition: Callable[[], object], what: str, within_s: float = WAIT_S) -> object:
    """The condition's value once it is true."""
    end = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)
    return value


@pytest.fixture
def satline(tmp_path: Path) -> Iterator[Satline]:
    """A `satline` to run; whatever a failed test leaves is undone at the end."""
    stated = os.environ.get("SATLINE_BIN_DIR")
    try:
        binaries = Path(stated) if stated else find_binary("satline-terminal").parent
        for name in ("satline-terminal", "satline-monitor"):
            find_binary(name, {"SATLINE_BIN_DIR": str(binaries)})
    except SatlineError as error:
        pytest.skip(error.message)
    made = Satline(tmp_path, binaries)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    cleaning = made.start("clean")
    assert cleaning.wait(WAIT_S) == 0, cleaning.communicate()[0]
    wait_for(delay_accounting_is_right, "delay accounting as before")


def delay_accounting_is_right() -> bool:
    """It is on where the host has it on, or where a living run wants it: of other tests too."""
    return delay_accounting.is_on() in (None, ON_HERE or bool(delay_accounting.shared().holders()))


ON_HERE = bool(delay_accounting.is_on()) and not delay_accounting.shared().holders()
"""Whether this host has delay accounting on by itself."""
