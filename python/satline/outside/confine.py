"""A tool that reads somebody's file runs without a network, and may write below its temporary directory only.

Landlock (Linux 5.13 and later) holds the files, of TCP from Linux 6.7 on the network too; a network namespace
of its own keeps out the rest, for users other than root in a user namespace, where the host allows one. Where
it can have neither the tool runs all the same, within its other limits, and `Confinement.lacks` says so.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# linux/landlock.h; the system calls have these numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1 << 0
_PATH_BENEATH = 1
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
# Remove directories and files; make devices, directories, files, sockets, pipes, links.
_CHANGE = sum(1 << bit for bit in range(4, 13))
_NET_TCP = 0b11
_SCOPES = 0b11
_NO_NEW_PRIVS = 38
_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000


@dataclass(frozen=True)
class Confinement:
    """What this kernel can keep a tool from.

    Attributes
    ----------
    files
        From writing outside its temporary directory.
    network
        From every network; `tcp`: from TCP at least.
    """

    files: bool
    network: bool
    tcp: bool

    @property
    def lacks(self) -> str:
        """What cannot be kept from it, in words; empty: nothing."""
        lacking = []
        if not self.files:
            lacking.append("writing files (no Landlock)")
        if not self.network:
            what = "the network other than TCP" if self.tcp else "the network"
            lacking.append(f"{what} (no namespace for this user)")
        return " and ".join(lacking)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _abi() -> int:
    """Version of the kernel's Landlock; 0: it has none."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, 0, _VERSION)))


@cache
def confinement() -> Confinement:
    """What this kernel can keep a tool from."""
    network = _own_network() is not None
    return Confinement(files=_abi() >= 1, network=network, tcp=network or _abi() >= 4)


@cache
def _own_network() -> int | None:
    """Flags of unshare(2) that give a process of this user a network of its own; None: it may have none."""
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        libc = _libc()
        child = os.fork()
        if child == 0:
            os._exit(1 if libc.unshare(flags) else 0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return flags
    return None


def ruleset(writable: Sequence[Path]) -> int | None:
    """A descriptor of the Landlock rules: writes below `writable` only; None: no Landlock."""
    abi = _abi()
    if abi < 1:
        return None
    handled = _WRITE_FILE | _CHANGE | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    attributes = struct.pack("=QQQ", handled, _NET_TCP, _SCOPES)
    length = 24 if abi >= 6 else 16 if abi >= 4 else 8
    descriptor = int(_libc().syscall(_CREATE_RULESET, attributes, length, 0))
    if descriptor < 0:
        return None
    for path, allowed in [
        *((p, handled) for p in writable),
        (Path("/dev/null"), handled & (_WRITE_FILE | _TRUNCATE)),
    ]:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", allowed, beneath)
            added = _libc().syscall(_ADD_RULE, descriptor, _PATH_BENEATH, rule, 0)
        finally:
            os.close(beneath)
        if added:
            os.close(descriptor)
            return None
    return descriptor


def in_child(rules: int | None, *, cpu_s: int, memory_bytes: int, file_bytes: int) -> Callable[[], None]:
    """What the child does before it becomes the tool; nothing in it takes memory or a lock."""
    libc = _libc()
    no_network = _own_network()

    def confine() -> None:
        # What it cannot have keeps it from nothing else.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        if no_network is not None:
            libc.unshare(no_network)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        if rules is not None:
            libc.syscall(_RESTRICT_SELF, rules, 0)

    return confine
