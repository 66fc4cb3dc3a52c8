"""`satline record`: what it asks of the monitor, what it refuses, what it says."""

import os
from pathlib import Path

import pytest

from satline.cli import run
from satline.cli.record.plan import closed_to_probes, group_path, hierarchies, thermometers_of
from satline.errors import InputError
from satline.systems.binaries import find_binary
from satline.systems.delay_accounting import shared


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A monitor that writes down its words and makes a recording of nothing."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("satline-monitor", "satline-thermometer", "satline"):
        file = directory / name
        file.write_text(f"""#!/bin/sh
echo "$@" > {tmp_path}/words
mkdir -p "$2/sources"
echo 'format_version = 1
[recording]
id = "0"
creator = "x"
end_reason = "complete"' > "$2/recording.toml"
""")
        file.chmod(0o755)
    monkeypatch.setenv("SATLINE_BIN_DIR", str(directory))
    return directory


def mounted(tmp_path: Path, *groups: str) -> list[tuple[Path, bool]]:
    """A false mount table of one version-2 hierarchy and one of version 1."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mounts").write_text(
        f"proc /proc proc rw 0 0\ncgroup2 {tmp_path}/fs/unified cgroup2 rw 0 0\n"
        f"cgroup {tmp_path}/fs/cpu\\040x cgroup rw,cpu 0 0\n"
    )
    for group in groups:
        (tmp_path / "fs" / group).mkdir(parents=True)
        (tmp_path / "fs" / group / "cgroup.procs").write_text("")
    return hierarchies(tmp_path / "proc")


def test_a_group_is_named_from_the_root_or_by_its_directory(tmp_path: Path) -> None:
    found = mounted(tmp_path, "unified/a.slice/b.service", "cpu x/batch")
    assert group_path("/a.slice/b.service", found) == "/a.slice/b.service"
    assert group_path(f"{tmp_path}/fs/unified/a.slice/b.service", found) == "/a.slice/b.service"
    assert group_path(f"{tmp_path}/fs/cpu x/batch/", found) == "/batch"
    for wrong, why in (
        ("/", "whole host"),
        (f"{tmp_path}/fs/unified", "whole host"),
        ("/c", "no such"),
        ("a.slice", "not a path"),
        ("/a.slice/../x", "not a path"),
    ):
        with pytest.raises(InputError, match=why):
            group_path(wrong, found)
    assert group_path("/later", found, exists=False) == "/later"


def test_probes_stay_out_of_a_group_that_takes_no_process(tmp_path: Path) -> None:
    found = mounted(tmp_path, "unified/leaf", "unified/inner")
    (tmp_path / "fs/unified/inner/cgroup.subtree_control").write_text("cpu memory\n")
    assert closed_to_probes("/leaf", found) is None
    assert "groups below it" in (closed_to_probes("/inner", found) or "")


def test_probes_are_named_once_each() -> None:
    assert thermometers_of(["io, trivial", "io"]) == ("io", "trivial")
    for wrong in ("warm", "", "io,"):
        with pytest.raises(InputError, match="no such probe"):
            thermometers_of([wrong])


def test_the_monitor_gets_what_was_asked_for(
    binaries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "x.satline"
    words = ["record", str(recording), "--interval", "500ms", "--thermometer", "trivial,io"]
    assert (
        run(
            [
                *words,
                "--thermometer-every",
                "10s",
                "--duration",
                "1m",
                "--quiet",
                "--waits",
                "--terminals",
                "--services",
            ]
        )
        == 0
    )
    told = (tmp_path / "words").read_text()
    assert told.startswith(f"--recording {recording} --interval 500ms --users uid ")
    assert "--thermometer trivial@10000ms --thermometer io@10000ms" in told
    assert f"--thermometer-program {binaries}/satline-thermometer" in told
    assert "--waits --terminals --services --budget 2 --duration 60000ms" in told
    assert f"{recording}: 0 rows" in capsys.readouterr().out


@pytest.mark.usefixtures("binaries")
def test_sources_are_explained_by_the_monitor(tmp_path: Path) -> None:
    assert run(["record", "--explain-sources"]) == 0
    assert (tmp_path / "words").read_text().split() == ["--explain-sources"]


def test_rules_go_to_the_monitor_by_their_whole_path(
    binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "users.toml").write_text("[[rule]]\nuser = '{login}'\n")
    assert run(["record", "x.satline", "--quiet", "--user-rules", "users.toml"]) == 0
    assert f"--users rules:{tmp_path}/users.toml" in (tmp_path / "words").read_text()
    assert run(["record", "--user-rules", "users.toml", "--users", "uid"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    (binaries / "satline-monitor").write_text("#!/bin/sh\necho wrong rules >&2\nexit 2\n")
    assert run(["record", "y.satline", "--user-rules", "users.toml"]) == 2
    assert run(["record", "--install", "--root", str(tmp_path), "--user-rules", "users.toml"]) == 2
    assert not (tmp_path / "y.satline").exists()
    assert not (tmp_path / "etc").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--thermometer", "warm"], "'warm': there is no such probe"),
        (["--thermometer", "io", "--thermometer-every", "500ms"], "less than 1000ms"),
        (["--cgroup", "/satline-there-is-none"], "there is no such control group"),
        (["--install", "--duration", "5m"], "--duration does not go with --install"),
    ],
)
def test_what_is_refused_leaves_nothing(
    words: list[str], message: str, binaries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del binaries
    assert run(["record", str(tmp_path / "x.satline"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "words").exists()
    assert not (tmp_path / "x.satline").exists()


def test_units_run_probes_and_put_the_switch_back(
    binaries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["--thermometer", "io", "--cgroup", "/satline-later", "--delay-accounting"]
    assert run(["record", "--print-unit", *wanted]) == 0
    printed = capsys.readouterr().out
    assert "--load-cgroup /satline-later --thermometer io@30000ms" in printed
    assert "--thermometer-cgroup /satline-later" in printed
    assert "ProtectControlGroups=no" in printed
    assert "PrivateTmp=yes" in printed
    assert run(["record", "--install", "--root", str(tmp_path), str(tmp_path / "x.satline"), *wanted]) == 0
    unit = tmp_path / "etc/systemd/system/satline-record.service"
    # The unit's own commands, on a false switch that a recorder shares.
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    switch = shared(tmp_path / "proc", tmp_path / "run")
    monkeypatch.setattr("satline.systems.delay_accounting.shared", lambda: switch)
    monkeypatch.setattr("satline.systems.delay_accounting.is_on", lambda: True)

    def do(key: str) -> str:
        (line,) = (line for line in unit.read_text().splitlines() if line.startswith(f"{key}=+-{satline} "))
        assert run(line.split()[1:]) == 0
        return switch.setting.read_text().strip()

    satline = find_binary("satline")
    switch.setting.write_text("0\n")
    assert (do("ExecStartPre"), do("ExecStopPost")) == ("1", "0")
    assert not switch.register.exists()
    assert do("ExecStartPre") == "1"
    switch.hold("a recorder", os.getpid())
    assert do("ExecStopPost") == "1"
    switch.release("a recorder")
    assert switch.setting.read_text() == "0"
    switch.setting.write_text("1\n")
    assert (do("ExecStartPre"), do("ExecStopPost")) == ("1", "1")
    assert run(["record", "--print-unit"]) == 0
    plain = capsys.readouterr().out
    assert "delay-accounting" not in plain
    assert plain.count("ProtectControlGroups=yes") == 2
    assert f"ExecStart={binaries}/satline-monitor --recording /var/lib/satline/host.satline" in plain


@pytest.mark.parametrize(("value", "told"), [("0", 2), ("1", 0)])
def test_what_delay_accounting_would_tell_is_said_where_it_is_off(
    value: str,
    told: int,
    binaries: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del binaries
    monkeypatch.setattr("satline.systems.delay_accounting.is_on", lambda: value == "1")
    assert run(["record", str(tmp_path / "x.satline"), "--quiet"]) == 0
    assert capsys.readouterr().err.count("kernel.task_delayacct is 0") == told


def test_a_probe_that_became_slow_is_told_while_recording(
    binaries: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monitor = binaries / "satline-monitor"
    script = monitor.read_text()
    monitor.write_text(script + "printf 'probe io takes 1.61 s\\nprobe \\033[31m is hostile\\nhalf a l'\n")
    assert run(["record", str(tmp_path / "a.satline"), "--thermometer", "io"]) == 0
    told = capfd.readouterr().err
    assert "--tell-alarms" in (tmp_path / "words").read_text()
    assert "0:00: probe io takes 1.61 s" in told
    assert "\033" not in told
    assert "half a l" not in told
    monitor.write_text(script)
    assert run(["record", str(tmp_path / "b.satline"), "--thermometer", "io", "--quiet"]) == 0
    assert "--tell-alarms" not in (tmp_path / "words").read_text()
