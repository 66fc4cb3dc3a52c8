"""Compressed storage in main storage (zram), with the kernel's own compressor."""

from __future__ import annotations

from pathlib import Path

from satline.systems import resources
from satline.systems.cgroups import UnsettableError
from satline.systems.swapdevices._making import Making


def zram(making: Making) -> Path:
    """A device that nobody has set up yet, else a new one."""
    name, added = _free(making)
    place, device = making.sys / "block" / name, making.dev / name
    page = resources.page_bytes()
    size = making.size_bytes // page * page
    making.ledger.add(
        "zram", path=str(device), sys=str(place), bytes=size, control=_control(making) if added else None
    )
    try:
        (place / "disksize").write_text(str(size))
        resources.write_swap_header(device, size)
    except OSError as error:
        raise UnsettableError(f"{device} cannot be set up: {error.strerror}") from None
    return device


def _control(making: Making) -> str:
    return str(making.sys / "class/zram-control")


def _free(making: Making) -> tuple[str, bool]:
    """Its name, and whether it was made for this."""
    for place in sorted((making.sys / "block").glob("zram*")):
        if (place / "disksize").read_text().strip() == "0":
            return place.name, False
    try:
        number = (Path(_control(making)) / "hot_add").read_text().strip()
    except OSError as error:
        raise UnsettableError(f"no zram device: {error.strerror}; the kernel needs CONFIG_ZRAM") from None
    return f"zram{number}", True
