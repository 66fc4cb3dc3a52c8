"""Open a recording, or import what another collector wrote."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from satline.api._recording import OpenRecording
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.importers import Importer

OF_URLS = "over a network only a Prometheus server is read; download anything else, and open the file"


def open_recording(
    path_or_url: str | Path,
    *,
    into: str | Path | None = None,
    format: str | None = None,
    timezone: str | tzinfo | None = None,
    mapping: str | Path | None = None,
    host: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Callable[[float], None] | None = None,
) -> OpenRecording:
    """Open a recording; an archive of another collector is imported first.

    Parameters
    ----------
    path_or_url
        A recording (a directory with a ``recording.toml``), or anything that ``satline import`` reads: sa
        files, text of sar, PCP and atop archives, CSV and Parquet, exports of Prometheus, or the URL of a
        Prometheus server.
    into
        Where an import is kept, a new directory; default: a temporary one, which is removed when the object
        is no longer used, and of which its ``repr`` says so.
    format, timezone, mapping, host, start, end
        Of an import: its format where it cannot be guessed; the zone of times that do not say theirs; a file
        that says what columns mean; only this host; only readings from `start` on and before `end`.
    progress
        Of an import: called with the part that is done, 0 to 1.

    Raises
    ------
    InputError
        There is nothing of that name, it is none of the known formats, or it is damaged.
    """
    from satline.recording import MANIFEST, Recording

    source = str(path_or_url)
    path = Path(source)
    options: dict[str, Any] = {
        "zone": _zone(timezone),
        "mapping": None if mapping is None else Path(mapping),
        "host": host,
        "start": start,
        "end": end,
    }
    if (
        "://" not in source
        and path.is_dir()
        and any((path / n).exists() for n in ("recording.toml", MANIFEST))
    ):
        given = [name for name, value in options.items() if value is not None]
        given += [name for name, value in (("into", into), ("format", format)) if value is not None]
        if given:
            raise InputError(
                f"{source} is a recording already: {', '.join(given)} is of an import",
                hint="leave it out; filters=Filters(...) of reduce() and diagnose() chooses times",
            )
        return OpenRecording(Recording.open(path))
    importer = _importer(source, format)
    if progress is not None:
        options["progress"] = progress
    try:
        return _imported(source, importer, options, into)
    except InputError as error:
        if "://" not in source:
            raise
        raise InputError(
            error.message, hint="; ".join(text for text in (error.hint, OF_URLS) if text)
        ) from error


def _imported(
    source: str, importer: Importer, options: dict[str, Any], into: str | Path | None
) -> OpenRecording:
    from satline.importers import Options, import_recording
    from satline.recording import Recording

    if into is not None:
        import_recording([source], Path(into), importer, Options(**options))
        return OpenRecording(Recording.open(into), imported_from=source)
    directory = Path(tempfile.mkdtemp(prefix="satline-import-"))
    try:
        made = directory / "imported.satline"
        import_recording([source], made, importer, Options(**options))
        return OpenRecording(Recording.open(made), imported_from=source, owned=directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _importer(source: str, name: str | None) -> Importer:
    from satline.importers import MODULES, guess, load

    if name is not None:
        if name not in MODULES:
            raise InputError(f"format={name!r}", hint=f"it is one of {', '.join(MODULES)}")
        return load(name)
    try:
        return guess(source)
    except InputError as error:
        if "://" in source:
            raise InputError(f"{source}: nothing is read from such a URL", hint=OF_URLS) from error
        if not Path(source).exists():
            raise InputError(
                f"{source}: no such recording or file", hint="a recording is a directory NAME.satline"
            ) from error
        raise InputError(
            f"{source}: neither a recording nor an archive of a known format",
            hint=f"say which with format=: {', '.join(MODULES)}",
        ) from error


def _zone(name: str | tzinfo | None) -> tzinfo | None:
    if not isinstance(name, str):
        return name
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"there is no time zone {name!r}", hint="write one as Europe/Berlin or UTC"
        ) from None
