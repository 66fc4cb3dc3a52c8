"""Satline installed in a guest: its Python is the guest's own, what that needs is on a disk of its own.

    python -m tests.system.product_guest bookworm trixie

makes those disks from PyPI's packages for the Python of each release; they are kept where guests' images are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.systems.binaries import find_binary
from satline.systems.guest import GuestSettings
from satline.systems.guest.files import cache_directory, find_program
from satline.systems.guest.image import SYSTEMD, find_image

from .booted_guest import BootedGuest, started
from .conftest import TREE

# Debian's Python of each release.
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
PLACE = "/opt/satline"
ASKED_FOR = "SATLINE_TEST_GUEST"
_NEEDS = "/opt/satline-needs"
_PROGRAMS = ("monitor", "machine", "terminal", "thermometer", "traces", "swapper", "disk")
_SHARED = ("catalogue", "machines", "studies", "workloads")
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_COMMAND = f"""#!{PLACE}/bin/python
import sys
from satline.cli import main
sys.exit(main())
"""


def _needed() -> list[str]:
    return list(tomllib.loads((TREE / "pyproject.toml").read_text())["project"]["dependencies"])


def needs_disk(release: str) -> Path:
    """Where the disk with Python's packages for a release is, or would be."""
    what = json.dumps([_needed(), PYTHONS[release]])
    return cache_directory() / f"needs-{release}-{hashlib.sha256(what.encode()).hexdigest()[:12]}.raw"


def make_needs_disk(release: str) -> None:
    """Fetch the packages and make the disk, unless it is there."""
    disk = needs_disk(release)
    if disk.exists():
        return
    tree, part = disk.with_suffix(".tree"), disk.with_suffix(".part")
    shutil.rmtree(tree, ignore_errors=True)
    disk.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:"]
    command += ["--python-version", PYTHONS[release], "--target", str(tree)]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    subprocess.run([*command, *_needed()], check=True)
    compiled(tree, release)
    size = sum(path.lstat().st_size + 4096 for path in tree.rglob("*"))
    with part.open("wb") as file:
        file.truncate((size * 5 // 4 + (64 << 20)) >> 20 << 20)
    subprocess.run([find_program("mke2fs"), "-q", "-t", "ext4", "-d", str(tree), str(part)], check=True)
    part.rename(disk)
    shutil.rmtree(tree)


def compiled(tree: Path, release: str) -> None:
    """Compile Python's modules where that Python is here: an emulated processor takes minutes for it."""
    if (python := shutil.which(f"python{PYTHONS[release]}")) is not None:
        words = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(tree)]
        subprocess.run([python, *words], check=False, capture_output=True)


@contextlib.contextmanager
def product_or_skip(release: str, directory: Path, before: Sequence[str] = ()) -> Iterator[BootedGuest]:
    """A guest with systemd as process 1 and Satline installed; else the test is skipped, and says why."""
    if not os.environ.get(ASKED_FOR):
        pytest.skip("emulated Python takes long; `make test-guest` runs it")
    try:
        find_program("qemu-system-x86_64")
        find_image(release=release)
        programs = {name: find_binary(f"satline-{name}") for name in _PROGRAMS}
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    except SatlineError as error:
        pytest.skip(error.message)
    disk = needs_disk(release)
    if not disk.exists():
        pytest.skip(f"{disk} is not there; `make test-guest` makes it")
    settings = GuestSettings(memory_bytes=1_200_000_000, processors=2, swap_disks=0, release=release)
    with started(directory, settings, before=before, options=SYSTEMD, disks=[disk]) as guest:
        install(guest, programs, release)
        yield guest


def install(guest: BootedGuest, programs: dict[str, Path], release: str) -> None:
    """As `pip install` leaves it, in an environment of its own."""
    python, package = PYTHONS[release], guest.directory / "package"
    shutil.copytree(TREE / "python/satline", package, ignore=shutil.ignore_patterns("__pycache__"))
    compiled(package, release)
    site = f"lib/python{python}/site-packages"
    files: dict[str, Path | bytes] = {f"bin/satline-{name}": path for name, path in programs.items()}
    files["bin/satline"] = _COMMAND.encode()
    files["pyvenv.cfg"] = (
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python}\n".encode()
    )
    files[f"{site}/needs.pth"] = f"{_NEEDS}\n".encode()
    files[f"{site}/satline"] = package
    for name in _SHARED:
        files[f"{site}/satline/share/{name}"] = TREE / name
    guest.put(files, PLACE)
    guest.run(
        f"ln -s /usr/bin/python3 {PLACE}/bin/python; ln -s {PLACE}/bin/satline /usr/local/bin/satline; "
        f"mkdir {_NEEDS} && mount -o ro,noload /dev/vdb {_NEEDS}"
    )


def main() -> None:
    """Make the disks of these releases."""
    for release in sys.argv[1:]:
        make_needs_disk(release)
        print(needs_disk(release))


if __name__ == "__main__":
    main()
