"""Importers: other collectors' archives → recordings. One file for each kind, one line in this table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from satline.importers._importer import Importer, Options
from satline.importers._sink import Sink

# By name the module whose `IMPORTER` it is. A module is loaded when it is asked for: to guess a format takes
# the first that is sure, and the libraries of the others would take longer to load than an archive to read.
MODULES: Mapping[str, str] = {
    "sysstat": "sysstat",
    "sar-text": "sar_text",
    "pcp": "pcp",
    "atop": "atop",
    "prometheus": "prometheus",
    "openmetrics": "openmetrics",
    "remote-read": "remote_read",
    "csv": "csv_parquet",
}

if TYPE_CHECKING:
    from satline.importers._import import guess as guess
    from satline.importers._import import import_recording as import_recording

    IMPORTERS: tuple[Importer, ...]

__all__ = ["IMPORTERS", "MODULES", "Importer", "Options", "Sink", "guess", "import_recording", "load"]


def load(name: str) -> Importer:
    """The importer of this name, one of `MODULES`."""
    importer: Importer = import_module(f"satline.importers.{MODULES[name]}").IMPORTER
    return importer


def __getattr__(name: str) -> Any:
    """`IMPORTERS`: all of them; and what goes through them, which itself needs this table."""
    if name == "IMPORTERS":
        return tuple(map(load, MODULES))
    if name in ("guess", "import_recording"):
        return getattr(import_module("satline.importers._import"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
