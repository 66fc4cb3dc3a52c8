"""The programs that are packed: linked for old systems (the wheel's), or into themselves (the recorder's)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Its code is that of "release", linked as one: tests/unit/test_wheel.py compares what both write.
PROFILE = "shipped"
# A panic ends these programs, and symbols are stripped: nothing would read tables for unwinding a stack.
_FLAGS = "-C force-unwind-tables=no"
# Of every distribution that is still kept; what PyPI calls manylinux_2_28.
GLIBC = (2, 28)
_VERSION = re.compile(rb"GLIBC_(\d+)\.(\d+)")


@dataclass(frozen=True)
class Machine:
    """A kind of machine: in Rust's words, in the wheel's (PEP 600) and in Debian's and Go's."""

    triple: str
    wheel: str
    debian: str


MACHINES = {
    "x86_64": Machine("x86_64-unknown-linux-gnu", "x86_64", "amd64"),
    "aarch64": Machine("aarch64-unknown-linux-gnu", "aarch64", "arm64"),
}


def compiler(machine: Machine) -> str | None:
    """The compiler that has Rust's own library for these machines; None: there is none.

    That of $RUSTC or of the path is taken before the distribution's, to which its own packages add machines.
    """
    for rustc in (os.environ.get("RUSTC", "rustc"), "/usr/bin/rustc"):
        if not shutil.which(rustc):
            continue
        asked = [rustc, "--print", "target-libdir", "--target", machine.triple]
        told = subprocess.run(asked, capture_output=True, text=True, check=True)
        if any(Path(told.stdout.strip()).glob("libstd-*.rlib")):
            return rustc
    return None


def build_for_wheel(machine: Machine, rustc: str, target: Path, tools: Path) -> Path:
    """Compile all programs against glibc 2.28 with zig, whose linker knows every version of it.

    Returns
    -------
    Path
        The directory of the programs.
    """
    linked = f"{machine.triple}.{GLIBC[0]}.{GLIBC[1]}"
    command = ["cargo-zigbuild", "build", "--profile", PROFILE, "--workspace", "--bins", "--target", linked]
    path = f"{tools.absolute()}:{os.environ['PATH']}"
    _run(command, {"PATH": path, "RUSTC": rustc, "RUSTFLAGS": _FLAGS, "CARGO_TARGET_DIR": str(target)})
    return target / machine.triple / PROFILE


def build_static(machine: Machine, rustc: str, target: Path, programs: tuple[str, ...]) -> Path:
    """Compile some programs with glibc within them.

    None of these looks up the name of a host or a user, for which glibc would load libraries.

    Raises
    ------
    subprocess.CalledProcessError
        It cannot be compiled: glibc's static library for these machines may not be installed.
    """
    chosen = [word for name in programs for word in ("--package", name)]
    target = target / "static"  # the flags would make the others be compiled anew each time
    command = ["cargo", "build", "--profile", PROFILE, "--bins", "--target", machine.triple, *chosen]
    flags = {
        "RUSTC": rustc,
        "RUSTFLAGS": f"-C target-feature=+crt-static {_FLAGS}",
        "CARGO_TARGET_DIR": str(target),
    }
    if machine.wheel != os.uname().machine:
        linker = f"CARGO_TARGET_{machine.triple.upper().replace('-', '_')}_LINKER"
        flags[linker] = os.environ.get(linker, f"{machine.wheel}-linux-gnu-gcc")
    _run(command, flags)
    return target / machine.triple / PROFILE


def newest_glibc(program: Path) -> tuple[int, int]:
    """The newest version of glibc that a program asks for; (0, 0): none at all."""
    found = [(int(major), int(minor)) for major, minor in _VERSION.findall(program.read_bytes())]
    return max(found, default=(0, 0))


def is_static(program: Path) -> bool:
    """Whether it starts without a dynamic linker: it names no interpreter."""
    told = subprocess.run(
        ["readelf", "--program-headers", program], capture_output=True, text=True, check=True
    )
    return "INTERP" not in told.stdout


def _run(command: list[str], environment: dict[str, str]) -> None:
    subprocess.run(command, env={**os.environ, "MAKEFLAGS": "", **environment}, check=True)
