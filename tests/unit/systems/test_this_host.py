"""This host: prepare, start, restore, with and without control groups."""

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.interruption import Interrupted, signals_interrupt
from satline.systems import Conditions, Configuration, Limits, Monitoring, Server, system_named
from satline.systems.binaries import find_binary
from satline.systems.ledger import start_ticks
from satline.systems.programs import Programs, expand
from satline.systems.this_host import ThisHost

LIMITS = Limits(
    processors=1, cpu_quota_processors=0.5, memory_bytes=64 << 20, read_iops=10, read_bytes_per_second=4096
)


@pytest.fixture
def bare(tmp_path: Path) -> ThisHost:
    """A host without control groups."""
    return ThisHost(cgroup_root=tmp_path / "none", state=tmp_path / "state")


def configuration(tmp_path: Path, limits: Limits = LIMITS) -> Configuration:
    return Configuration(secrets.token_hex(16), limits, tmp_path, delay_accounting=False)


def test_limits_that_cannot_be_set_are_told_and_the_run_goes_on(bare: ThisHost, tmp_path: Path) -> None:
    conditions = bare.prepare(configuration(tmp_path))
    try:
        assert conditions.limits == {"processors": 1}
        expected = {"cpu_quota_processors", "memory_bytes", "read_iops", "read_bytes_per_second"}
        assert set(conditions.not_set) == expected
        assert all("not mounted" in why for why in conditions.not_set.values())
        assert conditions.affinity == conditions.processors == [max(os.sched_getaffinity(0))]
        assert conditions.cgroup is None
        assert conditions.data.is_dir()
    finally:
        assert bare.restore() == []
    assert list(tmp_path.glob("satline-*")) == []
    assert list((tmp_path / "state").glob("*.ledger")) == []


def test_a_signal_while_the_janitor_is_started_leaves_none_behind(
    bare: ThisHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = subprocess.Popen

    def interrupted(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        os.kill(os.getpid(), signal.SIGINT)
        return started(*arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr("satline.systems.janitor.subprocess.Popen", interrupted)
    with signals_interrupt():
        with pytest.raises(Interrupted):
            bare.prepare(configuration(tmp_path))
        assert len(list((tmp_path / "state").glob("*.ledger"))) == 1
        assert bare.restore() == []
    assert list((tmp_path / "state").glob("*.ledger")) == []


def test_delay_accounting_is_switched_on_and_back(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "sys/kernel").mkdir(parents=True)
    (proc / "sys/kernel/task_delayacct").write_text("0\n")
    host = ThisHost(cgroup_root=tmp_path / "none", proc=proc, run=tmp_path, state=tmp_path / "state")
    host.prepare(Configuration(secrets.token_hex(16), Limits(), tmp_path))
    assert (proc / "sys/kernel/task_delayacct").read_text() == "1"
    assert host.restore() == []
    assert (proc / "sys/kernel/task_delayacct").read_text().strip() == "0"


def test_restore_before_prepare_has_nothing_to_do(bare: ThisHost) -> None:
    assert bare.restore() == []
    bare.collect()
    bare.check()


def test_preparing_commands_run_in_the_data_directory(bare: ThisHost, tmp_path: Path) -> None:
    conditions = bare.prepare(configuration(tmp_path, Limits()))
    try:
        bare.run_once(['printf %s "$SATLINE_DATA" > where; test "$PWD" = "$SATLINE_DATA"'], 120)
        assert (conditions.data / "where").read_text() == str(conditions.data)
        with pytest.raises(InputError, match=r"exit code 3: echo sorry >&2; exit 3\n  sorry"):
            bare.run_once(["echo sorry >&2; exit 3"], 120)
        with pytest.raises(InputError, match=r"not done after 0\.2 s"):
            bare.run_once(["sleep 100"], 0.2)
    finally:
        assert bare.restore() == []


def test_a_server_runs_bound_to_the_loads_processors_and_is_a_user(bare: ThisHost, tmp_path: Path) -> None:
    conditions = bare.prepare(configuration(tmp_path))
    try:
        script = "import os,time; open('here','w').write(str(os.getpid())); time.sleep(1000)"
        bare.start([Server("ledger", (sys.executable, "-c", script), "here")])
        lines = conditions.users_file.read_text().split("\n")
        pid = int(lines[1].split("\t")[0])
        assert lines == [f"{os.getpid()}\t_satline", f"{pid}\tledger", ""]
        assert sorted(os.sched_getaffinity(pid)) == conditions.processors
        bare.check()
        os.kill(pid, 9)
        while start_ticks(pid) is not None:
            pass
        with pytest.raises(SatlineError, match=r'server "ledger" was ended by SIGKILL'):
            bare.check()
    finally:
        assert bare.restore() == []


@pytest.mark.parametrize(
    ("command", "patience_s", "message"),
    [
        (("no-such-program",), 120, "cannot be started"),
        (
            ("sh", "-c", "echo broken >&2; exit 4"),
            120,
            r"ended with exit code 4 before it was ready\n  broken",
        ),
        (("sleep", "1000"), 0.3, "has not made here after"),
    ],
)
def test_servers_that_do_not_come_up(
    bare: ThisHost, tmp_path: Path, command: tuple[str, ...], patience_s: float, message: str
) -> None:
    bare.prepare(configuration(tmp_path, Limits()))
    try:
        with pytest.raises(InputError, match=message):
            bare.start([Server("ledger", command, "here", ready_timeout_s=patience_s)])
    finally:
        assert bare.restore() == []


def test_a_monitor_that_ends_by_itself_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    program = tmp_path / "satline-monitor"
    program.write_text("#!/bin/sh\necho 'error: disk is full' >&2\nexit 1\n")
    program.chmod(0o755)
    programs = Programs(Conditions(tmp_path / "data", tmp_path / "users", tmp_path / "users.tsv"))
    programs.start_monitor(Monitoring(program, tmp_path / "x.satline", 0.5, ("trivial",), 10))
    assert programs._monitor is not None
    programs._monitor.wait()
    message = r"monitor ended with exit code 1 during the run\n  error: disk is full"
    with pytest.raises(SatlineError, match=message):
        programs.check()
    programs.stop_all()


def test_only_satline_names_are_expanded() -> None:
    environment = {"SATLINE_DATA": "/d", "HOME": "/h"}
    assert (
        expand("$SATLINE_DATA/x ${SATLINE_DATA}y $HOME $1 $$ 100%", environment) == "/d/x /dy $HOME $1 $ 100%"
    )


def test_an_unknown_target_names_those_that_there_are() -> None:
    with pytest.raises(InputError, match="moon") as caught:
        system_named("moon")
    assert "this-host" in caught.value.hint


def test_binaries_are_found_where_they_are_said_to_be(tmp_path: Path) -> None:
    for name in ("stated", "beside", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "satline-monitor").write_text("#!/bin/sh\n")
        (tmp_path / name / "satline-monitor").chmod(0o755)
    path = {"PATH": str(tmp_path / "path")}
    python = str(tmp_path / "beside/python")
    stated = {**path, "SATLINE_BIN_DIR": str(tmp_path / "stated")}
    assert find_binary("satline-monitor", stated, python).parent.name == "stated"
    assert find_binary("satline-monitor", path, python).parent.name == "beside"
    assert find_binary("satline-monitor", path, "/nowhere/python").parent.name == "path"
    with pytest.raises(SatlineError, match="satline-terminal") as caught:
        find_binary("satline-terminal", stated, python)
    assert "SATLINE_BIN_DIR" in caught.value.hint
