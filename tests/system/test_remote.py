"""Studies on a remote host: on this host, and in another network namespace."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from satline.recording import Recording, check

from .conftest import WAIT_S, Satline, samples_without, wait_for
from .ssh_server import SshServer

pytestmark = pytest.mark.system

STUDY = """title = "far"
workload = "compute"
target = "remote"
{remote}
[load]
users = [1, 2]
ramp_seconds = 0.5
warmup_seconds = 0.5
window_seconds = 2
[limits]
processors = 1
memory = "128 MB"
swap = "32 MB"
[monitor]
interval_seconds = 0.2
[prepare]
commands = ['"$SATLINE_PYTHON" "$SATLINE_SHARE/programs/make_files.py" . 1 200000 text --text']
[[server]]
name = "idle"
command = ["sh", "-c", "touch ready; exec sleep 1000"]
ready_file = "ready"
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    made = SshServer(tmp_path / "sshd")
    yield made
    made.stop()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, output


def left(satline: Satline) -> list[str]:
    """What is still there, here and "there": both use this scratch directory."""
    found = [str(path) for path in satline.scratch.iterdir()]
    found += [str(path) for path in satline.state.glob("satline/*.ledger")]
    found += [str(path) for path in satline.home.rglob("*.ledger")]
    found += [line for line in Path("/proc/swaps").read_text().splitlines() if str(satline.scratch) in line]
    for process in Path("/proc").iterdir():
        try:
            if (
                process.name.isdecimal()
                and os.fsencode(satline.scratch) in (process / "cmdline").read_bytes()
            ):
                found.append(process.name)
        except OSError:
            continue
    return found


@pytest.fixture
def far(satline: Satline, server: SshServer) -> Satline:
    satline.home = server.home
    return satline


@pytest.mark.slow
def test_a_study_on_a_remote_host_runs_to_its_verdict_and_leaves_nothing(
    far: Satline, server: SshServer
) -> None:
    status, output = ended(far.study(STUDY.format(remote=server.table())))
    assert status == 0, output
    assert left(far) == []
    assert (far.recording / "report.html").stat().st_size > 1000
    report = check(far.recording)
    assert report.ok, report.problems
    assert report.end_reason == "complete"
    recording = Recording.open(far.recording)
    assert recording.description["system_under_test"]["kind"] == "remote"
    clock = recording.sources["monitor"]["clock"]
    # It is this very host: what is measured must be nothing, within the bound that is stated.
    assert abs(clock["offset_us"]) <= clock["bound_us"]
    assert abs(clock["time_offset_us"]) <= clock["bound_us"] + 100
    connection = recording.connect()
    users = {row[0] for row in connection.execute('SELECT DISTINCT "user" FROM "user"').fetchall()}
    connection.close()
    assert {"user-001", "user-002", "idle"} <= users
    before_s, after_s = samples_without(recording)
    # The monitor's readings span the emulator's transactions: one axis.
    assert before_s <= 0
    assert after_s < 2.0


def test_kill_9_of_the_study_leaves_nothing_on_either_side(far: Satline, server: SshServer) -> None:
    process = far.study(STUDY.format(remote=server.table()).replace("seconds = 2\n", "seconds = 600\n"))
    far.member("satline-terminal")
    process.kill()
    process.communicate()
    wait_for(lambda: left(far) == [], "the janitors")
    wait_for(lambda: server.sessions() == [], "the connections")


def test_a_line_that_is_cut_ends_the_run_and_restores_the_host(far: Satline, server: SshServer) -> None:
    process = far.study(STUDY.format(remote=server.table()).replace("seconds = 2\n", "seconds = 600\n"))
    far.member("satline-terminal")
    server.drop_all()
    status, output = ended(process)
    assert status == 1, output
    assert "was lost" in output or "could not log on" in output
    assert "Traceback" not in output
    wait_for(lambda: left(far) == [], "the janitor there")


def test_an_early_end_is_told_and_leaves_nothing(far: Satline, server: SshServer) -> None:
    process = far.study(STUDY.format(remote=server.table()).replace("seconds = 2\n", "seconds = 600\n"))
    far.member("satline-terminal")
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    assert left(far) == []
    assert Recording.open(far.recording).description["recording"]["end_reason"] == "interrupted"


def test_an_unknown_host_is_refused(far: Satline, server: SshServer, tmp_path: Path) -> None:
    (tmp_path / "nobody").write_text("")
    status, output = ended(far.study(STUDY.format(remote=server.table(known_hosts=tmp_path / "nobody"))))
    assert status == 2, output
    assert "Host key verification failed" in output
    assert "hint: get its key from its owner" in output
    assert left(far) == []
    assert not far.recording.exists()


def test_a_key_that_is_not_known_there_is_refused(far: Satline, server: SshServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    status, output = ended(far.study(STUDY.format(remote=server.table(identity=other))))
    assert status == 2, output
    assert "Permission denied" in output
    assert "[remote] identity" in output
    assert left(far) == []


def test_programs_that_are_missing_there_are_told(far: Satline, server: SshServer) -> None:
    text = STUDY.format(remote=server.table()).replace('["sh", "-c"', '["no-such-program", "-c"')
    status, output = ended(far.study(text))
    assert status == 2, output
    assert "programs that are not there: no-such-program" in output
    assert left(far) == []


def test_a_python_that_is_not_there_is_told(far: Satline, server: SshServer) -> None:
    status, output = ended(far.study(STUDY.format(remote=server.table(python="python9"))))
    assert status == 2, output
    assert "name it with [remote] python" in output
    assert left(far) == []


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace that a pair of interfaces leads to, at 10.213.77.2."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip (iproute2)")
    name, number = f"satline-test-{os.getpid()}", os.getpid() % 100000
    here, there = f"sl{number}a", f"sl{number}b"
    commands = [
        f"ip netns add {name}",
        f"ip link add {here} type veth peer name {there} netns {name}",
        f"ip addr add 10.213.77.1/30 dev {here}",
        f"ip link set {here} up",
        f"ip -n {name} addr add 10.213.77.2/30 dev {there}",
        f"ip -n {name} link set {there} up",
    ]
    try:
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"{command}: {done.stderr.strip()}")
        yield name
    finally:
        subprocess.run(["ip", "link", "del", here], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def test_a_study_over_a_network(satline: Satline, namespace: str, tmp_path: Path) -> None:
    server = SshServer(tmp_path / "sshd", "10.213.77.2", namespace)
    try:
        satline.home = server.home
        status, output = ended(satline.study(STUDY.format(remote=server.table())))
        assert status == 0, output
        assert left(satline) == []
        assert check(satline.recording).ok
    finally:
        server.stop()
