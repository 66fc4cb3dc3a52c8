"""Swap devices of chosen character: made on false kernel files, undone from the ledger alone."""

import os
import secrets
import stat
import subprocess
from pathlib import Path

import pytest

from satline.systems import Configuration, Knobs, Limits
from satline.systems.cgroups import UnsettableError
from satline.systems.knobs import swap_bytes_of
from satline.systems.ledger import Ledger
from satline.systems.swapdevices import KINDS, Making
from satline.systems.this_host import ThisHost
from satline.systems.undo import undo

SIZE = 1 << 20


@pytest.fixture
def making(tmp_path: Path) -> Making:
    directory = tmp_path / f"satline-{secrets.token_hex(16)}"
    directory.mkdir()
    ledger = Ledger.create(tmp_path / "state", secrets.token_hex(16))
    return Making(ledger, directory, SIZE, sys=tmp_path / "sys", dev=tmp_path / "dev")


def zram(tmp_path: Path, name: str, disksize: str) -> Path:
    place = tmp_path / "sys/block" / name
    place.mkdir(parents=True)
    (place / "disksize").write_text(disksize + "\n")
    (place / "reset").write_text("")
    (tmp_path / "dev").mkdir(exist_ok=True)
    (tmp_path / "dev" / name).write_bytes(bytes(SIZE))
    return place


def test_zram_takes_a_device_that_nobody_has_set_up(making: Making, tmp_path: Path) -> None:
    zram(tmp_path, "zram0", "1000000")
    free = zram(tmp_path, "zram1", "0")
    device = KINDS["zram"](making)
    assert device == tmp_path / "dev/zram1"
    assert (free / "disksize").read_text() == str(SIZE)
    assert swap_bytes_of(device) == SIZE
    assert undo(making.ledger) == []
    assert (free / "reset").read_text() == "1"


def test_zram_of_another_size_than_the_runs_is_left_alone(making: Making, tmp_path: Path) -> None:
    free = zram(tmp_path, "zram0", "0")
    KINDS["zram"](making)
    (free / "disksize").write_text("77")
    assert undo(making.ledger) == []
    assert (free / "reset").read_text() == ""


def test_zram_is_added_where_none_is_free_and_removed_again(making: Making, tmp_path: Path) -> None:
    zram(tmp_path, "zram0", "1000000")
    control = tmp_path / "sys/class/zram-control"
    control.mkdir(parents=True)
    (control / "hot_add").write_text("7\n")
    added = zram(tmp_path, "zram7", "1")  # one that is set up counts as taken; the kernel's would be 0
    assert KINDS["zram"](making).name == "zram7"
    (added / "disksize").write_text("0")
    assert undo(making.ledger) == []
    assert (control / "hot_remove").read_text() == "7"


def test_without_zram_the_reason_is_told(making: Making, tmp_path: Path) -> None:
    (tmp_path / "sys/block").mkdir(parents=True)
    with pytest.raises(UnsettableError, match="CONFIG_ZRAM"):
        KINDS["zram"](making)


@pytest.mark.parametrize("kind", ["network", "network-500", "rotating"])
def test_a_modelled_disk_whose_program_fails_is_told(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    program = tmp_path / "bin/satline-disk"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" > "$0.words"\necho "satline-disk: no /dev/fuse" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("SATLINE_BIN_DIR", str(program.parent))
    with pytest.raises(UnsettableError, match="no /dev/fuse"):
        KINDS[kind](making)
    words = Path(f"{program}.words").read_text().split()
    assert words[1:3] == ["--bytes", str(SIZE)]
    assert words[3] in kind
    # Nothing was mounted: there is nothing to unmount.
    assert undo(making.ledger) == []


def test_a_modelled_disk_without_its_program(
    making: Making, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATLINE_BIN_DIR", str(tmp_path))
    with pytest.raises(UnsettableError, match="satline-disk"):
        KINDS["network"](making)


def test_what_a_ledger_says_of_places_outside_a_run_is_not_done(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self/mountinfo").write_text("22 1 0:21 / /home rw - fuse x rw\n")
    ledger = Ledger.create(tmp_path / "state", secrets.token_hex(16))
    ledger.add("mount", path="/home")
    ledger.add("loop", path="/dev/null", backing="/home/letters")
    ledger.add("zram", path="/dev/zram0", sys=str(tmp_path / "none"), bytes=1, control=None)
    assert undo(ledger) == []


def test_a_kind_that_cannot_be_had_is_told_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATLINE_BIN_DIR", str(tmp_path))
    host = ThisHost(cgroup_root=tmp_path / "none", state=tmp_path / "state")
    configuration = Configuration(
        secrets.token_hex(16),
        Limits(swap_bytes=SIZE),
        tmp_path,
        delay_accounting=False,
        knobs=Knobs(swap_kind="rotating"),
    )
    try:
        conditions = host.prepare(configuration)
        assert set(conditions.not_set) == {"swap_bytes", "swap_kind"}
        assert conditions.knobs == {}
    finally:
        assert host.restore() == []


@pytest.mark.system
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="needs root and FUSE")
@pytest.mark.parametrize("kind", ["network", "rotating"])
def test_a_modelled_disk_holds_what_is_written_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    directory = tmp_path / f"satline-{secrets.token_hex(16)}"
    directory.mkdir()
    ledger = Ledger.create(tmp_path / "state", secrets.token_hex(16))
    device = KINDS[kind](Making(ledger, directory, SIZE))
    try:
        assert stat.S_ISBLK(device.stat().st_mode)
        assert swap_bytes_of(device) == SIZE
        turns = Path(f"/sys/block/{device.name}/queue/rotational").read_text().strip()
        assert turns == str(int(kind == "rotating"))
        said = b"what is written stays" * 1000
        with device.open("r+b") as file:
            file.seek(4096)
            file.write(said)
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(4096)
            assert file.read(len(said)) == said
        assert Path(f"/sys/block/{device.name}/queue/discard_max_bytes").read_text().strip() != "0"
        subprocess.run(["blkdiscard", "-o", "4096", "-l", "8192", str(device)], check=True)
        with device.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(4096)
            assert file.read(8192) == bytes(8192)
    finally:
        assert undo(ledger) == []
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()
    assert str(directory) not in subprocess.run(["losetup", "-l"], capture_output=True, text=True).stdout
