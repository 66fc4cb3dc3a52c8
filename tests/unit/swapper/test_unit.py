"""The systemd unit: no more privileges than its policy asks for."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import tomli_w

from satline.cli import run
from satline.errors import InputError
from satline.swapper import Policy, make_unit, read_policy

PROGRAM, FILE = Path("/usr/bin/satline-swapper"), Path("/etc/satline/policy.toml")
PLAIN = [
    "CapabilityBoundingSet=CAP_SYS_NICE CAP_SYS_PTRACE CAP_PERFMON CAP_DAC_READ_SEARCH CAP_IPC_LOCK",
    "ProtectControlGroups=yes",
    "PrivateNetwork=yes",
    "RestrictAddressFamilies=AF_UNIX",
]


def policy(**tables: object) -> Policy:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "policy.toml"
        path.write_text(tomli_w.dumps({"watch": [{"pid": 9}], **tables}))
        return read_policy(path)


def lines(asked: Policy, metrics: str | None = None) -> list[str]:
    text = make_unit(PROGRAM, FILE, asked, metrics)
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def more(asked: Policy, metrics: str | None = None) -> tuple[list[str], list[str]]:
    """What a unit has that the plain one has not, and the reverse."""
    plain, other = lines(policy()), lines(asked, metrics)
    return [line for line in other if line not in plain], [line for line in plain if line not in other]


def test_a_plain_policy_gets_the_least() -> None:
    plain = lines(policy())
    assert set(PLAIN) <= set(plain)
    assert not any(line.startswith("ReadWritePaths=") for line in plain)
    assert f"ExecStart={PROGRAM} run --policy {FILE} --status /run/satline-swapper/status.json" in plain, (
        "no more options"
    )
    # Every line has a section, a key, or is a comment: systemd reads on after a line that it does not know.
    assert all(line.startswith("[") or "=" in line for line in plain)


def test_tiers_are_written_and_nothing_beside_them() -> None:
    files = "-/sys/block/zram0/idle -/sys/block/zram0/writeback"
    assert more(policy(tiers={"zram": ["zram0"]})) == ([f"ReadWritePaths={files}"], [])
    (line,) = more(policy(tiers={"zram": ["zram0", "zram1"]}))[0]
    assert line.startswith(f"ReadWritePaths={files} -/sys/block/zram1/idle")


def test_a_pressure_trigger_needs_its_file_or_its_right() -> None:
    of_group = policy(storage={"pressure_share": 0.1, "cgroup": "/load"})
    assert more(of_group) == (["ProtectControlGroups=no"], ["ProtectControlGroups=yes"])
    assert more(policy(storage={"pressure_share": 0.1})) == ([f"{PLAIN[0]} CAP_SYS_RESOURCE"], [PLAIN[0]])
    assert more(policy(storage={"cgroup": "/load"})) == ([], [])


@pytest.mark.parametrize(
    ("address", "family"),
    [("127.0.0.1:9477", "AF_INET"), ("0.0.0.0:1", "AF_INET"), ("[::1]:9477", "AF_INET6")],
)
def test_metrics_bring_a_network(address: str, family: str) -> None:
    added, removed = more(policy(), address)
    assert f"RestrictAddressFamilies=AF_UNIX {family}" in added
    assert any(line.endswith(f"status.json --metrics {address}") for line in added)
    assert {"PrivateNetwork=yes", "RestrictAddressFamilies=AF_UNIX"} <= set(removed)


@pytest.mark.parametrize(
    "address",
    [
        "9477",
        "localhost:9",
        "127.0.0.1:0",
        "127.0.0.1:x",
        "127.0.0.1:9 --x",
        "127.0.0.1: 9",
        "::1:9",
        "[::1%x]:9",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="no address"):
        make_unit(PROGRAM, FILE, policy(), address)


def test_paths_that_a_unit_reads_otherwise_or_does_not_see_are_refused() -> None:
    for wrong in ("/etc/a b.toml", "/etc/%h.toml", "/etc/$x", "/etc/a\nb"):
        with pytest.raises(InputError, match="cannot stand"):
            make_unit(PROGRAM, Path(wrong), policy())
    for hidden in ("/tmp/policy.toml", "/var/tmp/x/policy.toml"):
        with pytest.raises(InputError, match="PrivateTmp"):
            make_unit(PROGRAM, Path(hidden), policy())
    with pytest.raises(InputError, match="/tmp/users"):
        make_unit(PROGRAM, FILE, policy(watch=[{"pid_file": "/tmp/users"}]))
    assert make_unit(PROGRAM, Path("/tmpfiles/policy.toml"), policy())


def test_the_command_prints_it_for_what_the_policy_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("satline.swapper.unit._HIDDEN", ())
    monkeypatch.setattr("satline.systems.binaries.find_binary", lambda _: PROGRAM)
    path = tmp_path / "policy.toml"
    path.write_text('[[watch]]\npid = 9\n[tiers]\nzram = ["zram3"]\n')
    assert run(["swapper", "unit", str(path), "--metrics", "[::1]:9477"]) == 0
    printed = capsys.readouterr().out
    assert "-/sys/block/zram3/writeback" in printed
    assert "AF_INET6" in printed
    assert f"--policy {path} " in printed
