"""atop's raw logs through `atop -r FILE -P LABELS`: what it prints of every interval, in columns.

The raw format is a dump of C structures and differs between versions: the installed atop reads its own, and
`atopconvert` makes those of older ones from it. Names of commands are hostile, but atop prints line breaks as
question marks and a command has no more than 15 characters, so that a line can be taken apart surely.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from satline.errors import InputError
from satline.importers._importer import compressed, ended
from satline.outside.tools import ToolLimits, run_tool, start_tool

MAGIC: Final = 0xFEEDBEEF
LABELS: Final = "CPU,cpu,CPL,MEM,SWP,PAG,PSI,LVM,MDD,DSK,NET,PRG,PRC,PRM,PRD"
_BROKEN = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
_INSTALL = "install atop (Debian: apt install atop), or import on a machine that has it"


def raw_version(path: Path) -> tuple[int, int] | None:
    """Version of the atop that wrote the file; None where it is no raw log. The file may be compressed."""
    try:
        with compressed(path)(path, "rb") as file:
            head = file.read(6)
    except _BROKEN:
        return None
    if len(head) < 6:
        return None
    magic, version = struct.unpack("<IH", head)
    return ((version >> 8) & 0x7F, version & 0xFF) if magic == MAGIC else None


def first_epoch(path: Path) -> float:
    """Time of the first reading, s since 1970 UTC, from the first record; infinite if unknown."""
    try:
        with compressed(path)(path, "rb") as file:
            head = file.read(12)
            (length,) = struct.unpack_from("<H", head, 10)
            file.read(length - len(head))
            (epoch,) = struct.unpack("<q", file.read(8))
    except (*_BROKEN, struct.error):
        return float("inf")
    return float(epoch)


def installed_version() -> tuple[int, int]:
    """Version of the installed atop. Raises InputError where there is none."""
    try:
        done = run_tool(["atop", "-V"], limits=ToolLimits(), env=_environment())
    except FileNotFoundError:
        raise InputError("atop: not found; it reads its raw logs", hint=_INSTALL) from None
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    match = re.search(r"Version: (\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@contextmanager
def printed(
    path: Path, damage: Callable[[str], None], note: Callable[[str], None]
) -> Iterator[tuple[Iterator[str], bool]]:
    """Lines that atop prints of a raw log, and whether it had to be converted first.

    Raises InputError where neither the installed atop nor its atopconvert can read the file.
    """
    version = raw_version(path)
    if version is None:
        raise InputError(f"{path}: no raw log of atop", hint="give a file that atop -w wrote")
    here = installed_version()
    with tempfile.TemporaryDirectory(prefix="satline-atop-") as scratch:
        plain = _plain(path, Path(scratch), damage)
        converted = False
        if version != here and shutil.which(f"atop-{version[0]}.{version[1]}") is None:
            plain = _converted(path, plain, version, here, Path(scratch), damage)
            converted = True
            note(f"{path.name}: written by atop {_dotted(version)}, converted to {_dotted(here)}")
        command = ["atop", "-r", str(plain), "-P", LABELS]
        with start_tool(command, limits=ToolLimits.of(plain), env=_environment()) as tool:
            yield (line.decode("utf-8", "replace").rstrip("\n") for line in tool.stdout), converted
        done = tool.ended
        words = " ".join(done.stderr[:2000].decode("utf-8", "replace").split())
        if done.stopped:
            damage(f"{path.name}: damaged: atop was ended, because {done.stopped}")
        elif done.returncode:
            how = ended("atop", done.returncode, words) if done.returncode < 0 else words
            damage(f"{path.name}: its end is damaged{f': {how}' if how else ''}")


def _converted(
    path: Path, plain: Path, version: tuple[int, int], here: tuple[int, int], scratch: Path, damage: Any
) -> Path:
    target = scratch / "converted"
    words = ""
    if version < here and shutil.which("atopconvert"):
        done = run_tool(
            ["atopconvert", str(plain), str(target)],
            limits=ToolLimits.of(plain),
            env=_environment(),
            writable=[scratch],
        )
        words = done.stopped or done.stderr.decode("utf-8", "replace").strip()
        if target.is_file() and target.stat().st_size > 0:
            if done.returncode:
                damage(f"{path.name}: its end is damaged: {words}")
            return target
    raise InputError(
        f"{path}: written by atop {_dotted(version)}, which the atop {_dotted(here)} here cannot read"
        + (f": {words}" if words else ""),
        hint=f"import it where atop {_dotted(max(version, here))} or later is installed, or convert it there:"
        f" atopconvert -t {_dotted(here)} OLD NEW",
    )


def _plain(path: Path, scratch: Path, damage: Callable[[str], None]) -> Path:
    """The file itself, or what can be unpacked of it."""
    opener = compressed(path)
    if opener is open:
        return path
    target = scratch / "raw"
    with opener(path, "rb") as packed, target.open("wb") as plain:
        try:
            while block := packed.read(1 << 16):
                plain.write(block)
        except _BROKEN as error:
            damage(f"{path.name}: its end is missing: {error}")
    return target


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _environment() -> dict[str, str]:
    # An atoprc of the user's must not change what is printed.
    return {**os.environ, "LC_ALL": "C", "TZ": "UTC0", "HOME": "/nonexistent"}
