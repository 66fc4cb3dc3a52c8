"""What is copied to a host for a run: programs, the part of the Python that runs there, workloads' files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import satline
from satline import share

MODULES = (
    "__init__.py",
    "errors.py",
    "interruption.py",
    "lazy.py",
    "outside/*.py",
    "share.py",
    "systems/*.py",
    "systems/swapdevices/*.py",
    "systems/remote/__init__.py",
    "systems/remote/agent.py",
)


def make_bundle(programs: Iterable[Path]) -> bytes:
    """A tar archive: ``python/``, ``workloads/``, ``bin/``; all of it owned by whoever unpacks it."""
    package = Path(satline.__file__).parent
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for pattern in MODULES:
            for path in sorted(package.glob(pattern)):
                _add(archive, path, f"python/satline/{path.relative_to(package)}")
        workloads = share.path("workloads")
        for path in sorted(workloads.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                _add(archive, path, f"workloads/{path.relative_to(workloads)}")
        for path in programs:
            _add(archive, path, f"bin/{path.name}", 0o755)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str, mode: int = 0o644) -> None:
    content = path.read_bytes()
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = mode
    archive.addfile(info, io.BytesIO(content))
