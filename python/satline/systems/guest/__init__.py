"""A guest as the system under test: a machine of QEMU's of chosen storage, processors, paging devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ANY = "auto"
KVM = "kvm"
EMULATION = "emulation"


@dataclass(frozen=True)
class GuestSettings:
    """A guest's machine.

    memory_bytes, processors
        Its main storage and processors.
    swap_disks, swap_disk_bytes
        Number of its paging devices, used in turn, and the size of each.
    swap_iops, swap_bytes_per_second
        Caps on each of them, reads and writes together; ``None``: as fast as the host's disk.
    page_cluster, swappiness, mglru
        Settings of its kernel, the last in bits (0 none of the multi-generational LRU, 7 all); ``None``:
        as it has them.
    release
        Debian's, of those that `satline guest build` has made; ``None``: the host's.
    accelerator
        ``auto``, ``kvm`` or ``emulation``.
    disk, kernel
        Files that the user names in place of those that `satline guest build` makes.
    """

    memory_bytes: int = 256_000_000
    processors: int = 1
    swap_disks: int = 1
    swap_disk_bytes: int = 512_000_000
    swap_iops: int | None = None
    swap_bytes_per_second: int | None = None
    page_cluster: int | None = None
    swappiness: int | None = None
    mglru: int | None = None
    accelerator: str = ANY
    disk: str | None = None
    kernel: str | None = None
    release: str | None = None

    def knobs(self) -> dict[str, str]:
        """File below / → what is written to it, for the settings that are stated."""
        knobs: dict[str, str] = {}
        if self.page_cluster is not None:
            knobs["proc/sys/vm/page-cluster"] = str(self.page_cluster)
        if self.swappiness is not None:
            knobs["proc/sys/vm/swappiness"] = str(self.swappiness)
        if self.mglru is not None:
            knobs["sys/kernel/mm/lru_gen/enabled"] = str(self.mglru)
        return knobs

    def memory_mib(self) -> int:
        """Main storage as QEMU takes it, rounded up."""
        return (self.memory_bytes + (1 << 20) - 1) >> 20

    def machine(self) -> dict[str, Any]:
        """What a snapshot depends on: the hardware, but not the caps and the kernel's settings."""
        return {
            "memory_mib": self.memory_mib(),
            "processors": self.processors,
            "swap_disks": self.swap_disks,
            "swap_disk_bytes": self.swap_disk_bytes if self.swap_disks else 0,
        }

    def stated(self) -> dict[str, int | float]:
        """As the recording's limits tell it."""
        told: dict[str, int | float] = {"memory_bytes": self.memory_bytes, "processors": self.processors}
        told["swap_disks"] = self.swap_disks
        if self.swap_disks:
            told["swap_bytes"] = self.swap_disks * self.swap_disk_bytes
        for name in ("swap_iops", "swap_bytes_per_second", "page_cluster", "swappiness", "mglru"):
            value = getattr(self, name)
            if value is not None:
                told[name] = value
        return told
