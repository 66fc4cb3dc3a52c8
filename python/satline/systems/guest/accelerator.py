"""Which accelerator a guest can have: found out by starting its kernel, not by asking for /dev/kvm.

A host may offer /dev/kvm and yet hang every kernel that starts under it. The answer is kept for the kernel
and the host's boot that it was found for.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from satline.errors import InputError
from satline.outside import parse_json
from satline.systems.guest import EMULATION, KVM
from satline.systems.guest.boot import accelerator_words
from satline.systems.guest.files import find_program
from satline.systems.guest.image import Image
from satline.systems.guest.initrd import PROBED
from satline.systems.ledger import boot_id

PROBE_TIMEOUT_S = 15.0
PROBE_MEMORY_MIB = 128
LONGEST = 100


@dataclass(frozen=True)
class Accelerator:
    """The accelerator, and why it is no faster one: empty for KVM."""

    name: str
    why: str


def choose(
    wanted: str, image: Image, cache: Path, environment: Mapping[str, str], device: Path = Path("/dev/kvm")
) -> Accelerator:
    """KVM where a kernel starts under it, else emulation; `wanted` may ask for one of the two.

    Raises
    ------
    InputError
        KVM was asked for and does not work here.
    """
    if wanted == EMULATION:
        return Accelerator(EMULATION, "the study asks for it")
    why = _why_no_kvm(image, cache, environment, device)
    if not why:
        return Accelerator(KVM, "")
    if wanted == KVM:
        raise InputError(f"the guest cannot have KVM: {why}", hint='write accelerator = "auto"')
    return Accelerator(EMULATION, why)


def _why_no_kvm(image: Image, cache: Path, environment: Mapping[str, str], device: Path) -> str:
    if not device.exists():
        return f"there is no {device}"
    if not os.access(device, os.R_OK | os.W_OK):
        return f"{device} may not be used by this user"
    key = f"{image.name()} {boot_id()}"
    file = cache / "kvm.json"
    try:
        known = parse_json(file.read_text())
        if known["key"] == key:
            return str(known["why"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    why = probe(image, KVM, environment)
    file.write_text(json.dumps({"key": key, "why": why}))
    return why


def probe(
    image: Image, accelerator: str, environment: Mapping[str, str], timeout_s: float = PROBE_TIMEOUT_S
) -> str:
    """Start the kernel; empty when it says that it runs, else what happened instead."""
    with tempfile.TemporaryDirectory(prefix="satline-probe-") as directory:
        console = Path(directory) / "console"
        command = [find_program("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none"]
        command += [
            "-machine",
            "pc",
            *accelerator_words(accelerator),
            "-m",
            str(PROBE_MEMORY_MIB),
            "-no-reboot",
        ]
        command += ["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-serial", f"file:{console}"]
        command += ["-append", "console=ttyS0 panic=-1 satline.probe"]
        with (Path(directory) / "log").open("wb") as log:
            process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            end = time.monotonic() + timeout_s
            while time.monotonic() < end:
                if console.exists() and PROBED.encode() in console.read_bytes():
                    return ""
                if process.poll() is not None:
                    said = (Path(directory) / "log").read_text(errors="replace").strip().splitlines()
                    how = said[-1].removeprefix("qemu-system-x86_64: ") if said else "it says nothing"
                    return f"QEMU ends when a kernel starts under {accelerator}: {how[:LONGEST]}"
                time.sleep(0.05)
            return f"a kernel does not start under it within {timeout_s:.0f} s"
        finally:
            process.kill()
            process.wait()
