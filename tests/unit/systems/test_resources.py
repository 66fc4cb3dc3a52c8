"""What the host has, and swap files."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from satline.systems import resources
from satline.systems.cgroups import UnsettableError


def test_memory_is_read_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       1024 kB\nMemFree: 1 kB\n")
    assert resources.memory_bytes(tmp_path) == 1024 * 1024
    assert resources.memory_bytes(tmp_path / "none") is None
    (tmp_path / "meminfo").write_text("MemTotal:\n")
    assert resources.memory_bytes(tmp_path) is None


def test_a_partition_is_led_back_to_its_disk(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    if os.major(number) == 0:
        pytest.skip("the temporary directory is not on a block device")
    disk = tmp_path / "devices/sda"
    (disk / "sda1").mkdir(parents=True)
    (disk / "dev").write_text("8:0\n")
    (disk / "sda1/dev").write_text("8:1\n")
    (tmp_path / "dev/block").mkdir(parents=True)
    link = tmp_path / "dev/block" / f"{os.major(number)}:{os.minor(number)}"
    link.symlink_to(disk / "sda1")
    (disk / "sda1/partition").write_text("1\n")
    assert resources.disk_of(tmp_path, tmp_path) == "8:0"
    (disk / "sda1/partition").unlink()
    assert resources.disk_of(tmp_path, tmp_path) == "8:1"


def test_no_block_device_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnsettableError, match="not on a block device"):
        resources.disk_of(Path("/proc"))
    with pytest.raises(UnsettableError, match="not on a block device"):
        resources.disk_of(tmp_path, tmp_path / "none")


def test_the_swap_header_is_what_the_kernel_wants() -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    header = resources.swap_header(100, page)
    assert len(header) == page
    assert header[-10:] == b"SWAPSPACE2"
    assert int.from_bytes(header[1024:1028], "little") == 1
    assert int.from_bytes(header[1028:1032], "little") == 99
    assert int.from_bytes(header[1032:1036], "little") == 0


def test_the_swap_file_has_no_holes_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "swap"
    resources.write_swap_file(path, 1_000_000)
    status = path.stat()
    assert status.st_size == 1_000_000 // 4096 * 4096
    assert status.st_blocks * 512 >= status.st_size
    assert status.st_mode & 0o777 == 0o600
    tool = shutil.which("swaplabel") or shutil.which("swaplabel", path="/sbin:/usr/sbin")
    if tool is not None:
        said = subprocess.run([tool, str(path)], capture_output=True, text=True, check=True).stdout
        assert "satline" in said


def test_a_swap_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsettableError, match="does not fit"):
        resources.write_swap_file(tmp_path / "swap", resources.free_disk_bytes(tmp_path))
    assert not (tmp_path / "swap").exists()


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "swap").symlink_to(tmp_path / "precious")
    with pytest.raises(UnsettableError):
        resources.write_swap_file(tmp_path / "swap", 100_000)
    assert not (tmp_path / "precious").exists()


def test_swapon_says_why_not(tmp_path: Path) -> None:
    (tmp_path / "not swap").write_bytes(b"x" * 8192)
    with pytest.raises(UnsettableError, match="swapon"):
        resources.swap_on(tmp_path / "not swap")
