"""The guest's first file system: a cpio archive with the modules that find its disk and its network.

It also answers the question whether a kernel starts at all under an accelerator: with `satline.probe` on the
kernel's command line it says so and powers off.
"""

from __future__ import annotations

import lzma
import stat
from collections.abc import Iterable
from pathlib import Path

from satline.errors import SatlineError

MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_rng")
PROBED = "satline: the kernel starts"
_INIT = """#!/bin/busybox sh
export PATH=/bin
busybox mkdir -p /proc /sys /dev /root
busybox mount -t proc proc /proc
busybox mount -t devtmpfs dev /dev
busybox grep -q satline.probe /proc/cmdline && {{
    echo '{probed}'
    busybox poweroff -f
}}
for module in {modules}; do busybox insmod "/$module" || echo "satline: no $module"; done
for again in 1 2 3 4 5 6 7 8 9 10; do
    busybox mount -t ext4 -o rw /dev/vda /root && break
    busybox sleep 0.2
done
busybox mount --move /dev /root/dev
busybox umount /proc
exec busybox switch_root /root /sbin/satline-init || echo 'satline: the disk holds no guest'
busybox poweroff -f
"""


def make_initrd(modules: Path, busybox: Path, target: Path) -> None:
    """Write the archive.

    Parameters
    ----------
    modules
        A kernel's ``lib/modules/VERSION``.
    busybox
        Linked statically.
    """
    files = in_order(modules, MODULES)
    names = [path.name.removesuffix(".xz") for path in files]
    init = _INIT.format(modules=" ".join(names), probed=PROBED).encode()
    entries = [
        ("bin", stat.S_IFDIR | 0o755, b""),
        ("dev", stat.S_IFDIR | 0o755, b""),
        ("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
        ("init", stat.S_IFREG | 0o755, init),
        *((name, stat.S_IFREG | 0o644, contents(path)) for name, path in zip(names, files, strict=True)),
    ]
    # What init prints goes to /dev/console, which must be there before anything is mounted.
    data = archive(entries, {"dev/console": (5, 1)})
    target.write_bytes(data)


def in_order(modules: Path, wanted: Iterable[str]) -> list[Path]:
    """Files of the modules and of those that they need, each after what it needs.

    Modules that the kernel has built in have no file and are left out.

    Raises
    ------
    SatlineError
        They are compressed otherwise than by xz.
    """
    files = {path.name.partition(".")[0].replace("-", "_"): path for path in modules.rglob("*.ko*")}
    found: list[Path] = []

    def add(name: str) -> None:
        path = files.get(name.replace("-", "_"))
        if path is None or path in found:
            return
        for needed in depends(contents(path)):
            add(needed)
        found.append(path)

    for name in wanted:
        add(name)
    return found


def contents(path: Path) -> bytes:
    """A module as the kernel takes it.

    Raises
    ------
    SatlineError
        It is compressed otherwise than by xz.
    """
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix != ".ko":
        raise SatlineError(f"{path}: a module compressed otherwise than by xz", hint="name another release")
    return data


def depends(module: bytes) -> list[str]:
    """Names of the modules that a module says it needs (its .modinfo section)."""
    for entry in module.split(b"\0"):
        if entry.startswith(b"depends="):
            return [name.decode() for name in entry.removeprefix(b"depends=").split(b",") if name]
    return []


def archive(entries: Iterable[tuple[str, int, bytes]], devices: dict[str, tuple[int, int]]) -> bytes:
    """A cpio archive ("newc", Documentation/driver-api/early-userspace/buffer-format.rst) owned by root.

    Parameters
    ----------
    entries
        Name, mode with its type, content.
    devices
        Name → major, minor of character devices.
    """
    parts = []
    rows = [(*entry, (0, 0)) for entry in entries]
    rows += [(name, stat.S_IFCHR | 0o600, b"", numbers) for name, numbers in devices.items()]
    for number, (name, mode, content, device) in enumerate([*rows, ("TRAILER!!!", 0, b"", (0, 0))], start=1):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        parts.append(_padded(header + encoded) + _padded(content))
    return b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
