"""`satline record` on the real kernel: probes, the load's group, delay accounting."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recordings import found

from satline.recording import NAMES, Recording, check, make_key, pseudonymise, read_names
from satline.systems.delay_accounting import is_on

from .conftest import Satline, delay_accounting_is_right, wait_for
from .test_study_runs import ended

pytestmark = pytest.mark.system


def record_until(
    satline: Satline, query: str, wanted: Callable[[list[tuple[Any, ...]]], bool], *words: str
) -> None:
    """Record until this is found, and end it as a person does."""
    process = satline.start("record", str(satline.recording), "--interval", "200ms", *words)

    def is_there() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return wanted(found(satline.recording, query))

    wait_for(is_there, query)
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 0, output


def test_probes_run_beside_a_recording(satline: Satline) -> None:
    query = "SELECT thermometer, count(elapsed_us), min(elapsed_us) FROM thermometer GROUP BY 1 ORDER BY 1"
    words = ["--thermometer", "trivial,compute", "--thermometer-every", "1s"]
    record_until(satline, query, lambda rows: len(rows) == 2 and all(row[1] for row in rows), *words)
    rows = found(satline.recording, query)
    assert [name for name, _, _ in rows] == ["compute", "trivial"]
    assert all(count >= 1 and least > 0 for _, count, least in rows)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a control group")
def test_a_group_is_the_load_and_probes_run_in_it(satline: Satline) -> None:
    roots = [
        path
        for path in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpuacct"))
        if (path / "cgroup.procs").exists()
    ]
    name = f"satline-test-{os.getpid()}"
    if not roots:
        pytest.skip("there are no control groups here")
    group = roots[0] / name
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    worker = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        (group / "cgroup.procs").write_text(str(worker.pid))
        words = ["--cgroup", str(group), "--thermometer", "compute", "--thermometer-every", "1s"]
        query = (
            "SELECT (SELECT max(cpu_us) - min(cpu_us) FROM cgroup WHERE cgroup = 'load'),"
            " (SELECT count(elapsed_us) FROM thermometer)"
        )
        record_until(satline, query, lambda rows: any(used and probes for used, probes in rows), *words)
        recording = Recording.open(satline.recording)
        assert recording.description["system_under_test"]["cgroup"] == "load"
    finally:
        worker.kill()
        worker.wait()
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "an empty group")
        group.rmdir()


@pytest.mark.skipif(os.geteuid() != 0 or is_on() is not False, reason="needs root and a switch that is off")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_delay_accounting_is_put_back_however_it_ends(number: int, satline: Satline) -> None:
    process = satline.start("record", str(satline.recording), "--interval", "200ms", "--delay-accounting")
    wait_for(lambda: list(satline.recording.glob("segments/system/*.seg")), "samples")
    assert is_on()
    process.send_signal(number)
    ended(process)
    wait_for(delay_accounting_is_right, "the switch to be put back")
    report = check(satline.recording)
    assert report.ok, report.problems
    assert list(satline.state.glob("satline/*.ledger")) == []


def test_rules_say_who_is_a_user(satline: Satline) -> None:
    rules = satline.directory / "rules.toml"
    rules.write_text('[[rule]]\ncommand = "yes"\nuser = "the {command} people"\n')
    worker = subprocess.Popen(["yes"], stdout=subprocess.DEVNULL)
    try:
        status, output = ended(satline.start("record", "--user-rules", str(rules), "--print-users"))
        assert status == 0, output
        assert "the yes people" in output
        words = ["--user-rules", str(rules), "--interval", "200ms", "--duration", "2s"]
        status, output = ended(satline.start("record", str(satline.recording), *words))
        assert status == 0, output
    finally:
        worker.kill()
        worker.wait()
    recording = Recording.open(satline.recording)
    assert recording.sources["monitor"]["users"] == {"definition": "rules", "rules": rules.read_text()}
    connection = recording.connect()
    query = """SELECT max(cpu_us) - min(cpu_us) FROM "user" WHERE "user" = 'the yes people'"""
    used = connection.execute(query).fetchone()
    connection.close()
    assert used is not None
    assert used[0] > 0
    rules.write_text('[[rule]]\nlogn = "x"\n')
    status, output = ended(satline.start("record", "y.satline", "--user-rules", str(rules)))
    assert status == 2, output
    assert f"{rules}: line 2: rule.logn: there is no such key" in output


def test_it_ends_with_what_the_recording_shows(satline: Satline) -> None:
    words = ["--interval", "200ms", "--duration", "3s"]
    status, output = ended(satline.start("record", str(satline.recording), *words))
    assert status == 0, output
    rows, *_, following = [line for line in output.splitlines() if not line.startswith("note: ")]
    assert " rows, " in rows
    assert following == f"next: satline diagnose {satline.recording}"


def test_it_goes_on_where_nobody_reads_its_errors(satline: Satline) -> None:
    words = ["record", str(satline.recording), "--interval", "200ms", "--duration", "3s"]
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "satline.cli", *words],
        cwd=satline.directory,
        env=satline.environment,
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    assert process.wait(600) == 0
    report = check(satline.recording)
    assert report.ok
    connection = Recording.open(satline.recording).connect()
    row = connection.execute("SELECT (max(monotonic_ns) - min(monotonic_ns)) / 1e9 FROM system").fetchone()
    connection.close()
    assert row is not None
    # To its end, though the first sample may be late.
    assert row[0] > 1.5
    assert report.end_reason == "complete"


def test_no_name_of_a_busy_program_is_written_where_names_are_replaced(
    satline: Satline, tmp_path: Path
) -> None:
    """Live, and in a copy of a plain recording, the same pseudonyms by the same key."""
    name = "Zq0Xw1Jk"
    program = tmp_path / name
    program.symlink_to(sys.executable)
    key = make_key(tmp_path / "key")
    worker = subprocess.Popen([program, "-c", "while True: pass"], cwd="/")
    try:
        words = ["--interval", "200ms", "--duration", "3s", "--quiet"]
        plain = tmp_path / "plain.satline"
        for path, more in ((plain, []), (satline.recording, ["--pseudonymise", str(tmp_path / "key")])):
            status, output = ended(satline.start("record", str(path), *words, *more))
            assert status == 0, output
    finally:
        worker.kill()
        worker.wait()
    pseudonymise(plain, tmp_path / "copy.satline", key)
    commands = {}
    for path in (plain, satline.recording, tmp_path / "copy.satline"):
        assert check(path).problems == []
        with Recording.open(path).connect(tables=["task"]) as connection:
            rows = connection.execute("SELECT DISTINCT name FROM task").fetchall()
        commands[path] = {row[0] for row in rows}
    assert name in commands[plain]
    for path in (satline.recording, tmp_path / "copy.satline"):
        assert key.pseudonym(name) in commands[path]
        assert name not in commands[path]
        for file in (f for f in path.rglob("*") if f.is_file()):
            assert name.encode() not in file.read_bytes(), file
        assert read_names(path / NAMES, key)[key.pseudonym(name)] == name
    hosts = {
        Recording.open(p).description["host"]["name"] for p in (satline.recording, tmp_path / "copy.satline")
    }
    assert len(hosts) == 1
