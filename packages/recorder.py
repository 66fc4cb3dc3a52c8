"""The recorder by itself: two programs, their manual pages and a unit; as a tarball and a Debian package."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from packages.archive import gzipped, tar
from packages.manual import page
from satline.cli.record.plan import Plan
from satline.cli.record.units import RECORDING, make_units

PROGRAMS = ("satline-monitor", "satline-thermometer")

_CONTROL = """\
Package: satline-recorder
Version: {version}
Architecture: {machine}
Maintainer: Satline contributors
Section: admin
Priority: optional
Installed-Size: {kilobytes}
Recommends: systemd
Description: record what a Linux host does and what its users get
 satline-monitor reads system, processor, device, control-group, user and
 task counters at every interval and appends them, raw, to a recording that
 satline evaluates here or on another machine. It needs no Python.
 .
 The unit satline-record.service records from boot on; it is not enabled by
 the installation.
"""
_AFTER = """\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
"""
_BEFORE = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now satline-record.service
fi
"""
_README = """\
Satline's recorder {version}: programs that need no library and no Python.

  bin/satline-monitor --recording day.satline --duration 24h --interval 10s

From boot on, as root:
  cp bin/* /usr/bin/
  cp lib/systemd/system/satline-record.service /etc/systemd/system/
  mkdir -m 750 /var/lib/satline
  systemctl daemon-reload && systemctl enable --now satline-record

`satline diagnose day.satline` evaluates it, here or on another machine.
"""


def lay(programs: Path, prefix: Path, version: str, told: dict[str, str]) -> None:
    """Lay the recorder's files below `prefix`, as they lie below /usr.

    Parameters
    ----------
    programs
        Where the programs are that were built.
    told
        What each of them prints with --help.
    """
    manuals, units = prefix / "share/man/man1", prefix / "lib/systemd/system"
    for directory in (prefix / "bin", manuals, units):
        directory.mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copyfile(programs / name, prefix / "bin" / name)
        (prefix / "bin" / name).chmod(0o755)
        (manuals / f"{name}.1.gz").write_bytes(gzipped(page(name, told[name], version).encode()))
    plan = Plan(Path("/usr/bin/satline-monitor"), RECORDING, budget_percent=2.0)
    for name, text in make_units(plan, None).items():
        (units / name).write_text(text)


def write_tarball(prefix: Path, out: Path, version: str, epoch: int, licence: Path) -> None:
    """The files that `lay` laid below `prefix`, the licence and a page that says what to do, as `out`."""
    shutil.copyfile(licence, prefix / "LICENSE")
    (prefix / "README").write_text(_README.format(version=version))
    top = out.name.removesuffix(".tar.gz")
    out.write_bytes(gzipped(tar(prefix, epoch, top)))


def write_deb(tree: Path, out: Path, *, version: str, machine: str, epoch: int, licence: Path) -> None:
    """The Debian package `out` of `tree`, which has the recorder's files below usr.

    Parameters
    ----------
    machine
        In Debian's words: amd64, arm64.
    epoch
        No file in it is younger: two builds of one source are one package.
    """
    documents = tree / "usr/share/doc/satline-recorder"
    documents.mkdir(parents=True)
    shutil.copyfile(licence, documents / "copyright")
    (tree / "var/lib/satline").mkdir(parents=True)
    kilobytes = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file()) // 1024 + 1
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(_CONTROL.format(version=version, machine=machine, kilobytes=kilobytes))
    for name, text in (("postinst", _AFTER), ("postrm", _AFTER), ("prerm", _BEFORE)):
        (control / name).write_text(text)
    for path in tree.rglob("*"):
        program = path.is_dir() or path.parent.name == "bin" or path.name in ("postinst", "postrm", "prerm")
        path.chmod(0o755 if program else 0o644)
    (tree / "var/lib/satline").chmod(0o750)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--uniform-compression", "-Zxz", "--build", str(tree), str(out)],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
