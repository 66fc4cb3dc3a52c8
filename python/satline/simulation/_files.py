"""Machine and workload files: those shipped, by name, and anybody's, by path.

Also what files of studies and of calibrations share: settings by dotted key, names of measures.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from satline import share
from satline.dotted import flat
from satline.outside import parse_toml, read_text
from satline.problems import none_such
from satline.simulation._measures import USUAL, is_measure
from satline.simulation._runner import Setting

_NO_MACHINES = frozenset({"processors"})


def shipped_machines() -> list[Path]:
    """Machine files that come with Satline."""
    return [path for path in sorted(share.path("machines").glob("*.toml")) if path.stem not in _NO_MACHINES]


def shipped_workloads() -> list[Path]:
    """Workload files of simulated machines that come with Satline."""
    return sorted((share.path("workloads") / "simulated").glob("*.toml"))


def shipped_studies() -> list[Path]:
    """Simulated studies that come with Satline."""
    return sorted((share.path("studies") / "simulated").glob("*.toml"))


def shipped_calibrations() -> list[Path]:
    """Calibration files that come with Satline."""
    return sorted((share.path("studies") / "calibration").glob("*.toml"))


def about(path: Path) -> str:
    """The first sentence of a file's title or note; what cannot be read is said when it is used."""
    try:
        values = parse_toml(read_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return ""
    words = " ".join(str(values.get("title") or values.get("note") or "").split())
    return words.partition(". ")[0].removesuffix(".")


def find_machine(name_or_file: str | Path, beside: Path | None = None) -> Path:
    """A file of that name, else a shipped machine; `beside`: the directory that relative names start from.

    Raises
    ------
    InputError
        There is neither.
    """
    return _find(name_or_file, shipped_machines(), "machine", beside)


def find_workload(name_or_file: str | Path, beside: Path | None = None) -> Path:
    """As `find_machine`, for workloads of simulated machines."""
    return _find(name_or_file, shipped_workloads(), "workload", beside)


def find_simulated_study(name_or_file: str | Path) -> Path:
    """As `find_machine`, for simulated studies."""
    return _find(name_or_file, shipped_studies(), "simulated study", None)


def find_calibration(name_or_file: str | Path) -> Path:
    """As `find_machine`, for calibrations."""
    return _find(name_or_file, shipped_calibrations(), "calibration", None)


def _find(name_or_file: str | Path, shipped: list[Path], kind: str, beside: Path | None) -> Path:
    name = str(name_or_file)
    path = (beside or Path()) / name
    names = {one.stem: one for one in shipped}
    if path.is_file() and (path.suffix == ".toml" or name not in names):
        return path
    if name in names:
        return names[name]
    raise none_such(name, names, kind=kind, listed_by="satline simulate --list")


def _known(name: str) -> str:
    if not is_measure(name):
        raise ValueError(f'there is no measure "{name}"; some are: {", ".join(USUAL)}')
    return name


Sets = Annotated[dict[str, Setting], BeforeValidator(flat)]
MeasureName = Annotated[str, AfterValidator(_known)]
