"""What is copied to a host for a run, and the monitor's recording brought home.

There: programs, the part of the Python that runs there, workloads' files. Home: its readings on this host's
time, in the study's recording.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import satline
from satline import share
from satline.errors import SatlineError
from satline.outside import unpack_tar
from satline.systems.remote.clocks import Shift

if TYPE_CHECKING:
    import pyarrow as pa


MODULES = (
    "__init__.py",
    "errors.py",
    "interruption.py",
    "lazy.py",
    "outside/*.py",
    "share.py",
    "systems/*.py",
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


def unpack(file: Path, directory: Path) -> None:
    """Unpack a tar archive from another host: plain files only, nowhere but below `directory`.

    Raises
    ------
    SatlineError
        It holds anything else, or is broken.
    """
    try:
        unpack_tar(file, directory)
    except (tarfile.TarError, OSError) as error:
        raise SatlineError(f"what the monitor recorded could not be fetched: {error}") from None


def take_over(fetched: Path, into: Path, shift: Shift, host: str) -> dict[str, Any]:
    """Put the readings of the recording `fetched` into the recording `into`, with their times shifted.

    Parameters
    ----------
    host
        As the source's description is to call where they come from.

    Returns
    -------
    The ``[host]`` of the fetched recording.

    Raises
    ------
    SatlineError
        It cannot be read.
    """
    from satline.catalogue import catalogue
    from satline.recording import (
        conform,
        day_name,
        describe,
        layout,
        next_run,
        publish_all,
        read_segment,
        split_days,
        write_hidden,
    )

    runs: dict[tuple[str, int], int] = {}
    for segment in layout(fetched).segments:
        content = read_segment(segment.path)
        if content.table is None or content.table.num_rows == 0:
            continue
        definition = catalogue().table(segment.table)
        key = (segment.writer, segment.run)
        run = runs.setdefault(key, next_run(into, segment.writer))
        rows = shifted(conform(content.table.replace_schema_metadata(None), definition), shift)
        damage = [content.damage] if content.damage is not None else []
        parts: dict[int, list[pa.Table]] = {}
        for day, part in split_days(rows):
            parts.setdefault(day, []).append(part)
        for number, (day, tables) in enumerate(sorted(parts.items())):
            import pyarrow as pa

            # A shift may carry a segment over midnight: each day is a file with a number of its own.
            sequence = 2 * segment.sequence + min(number, 1)
            directory = into / "tables" / segment.table / f"day={day_name(day)}"
            file = directory / f"{segment.writer}-{run}-{sequence}-{sequence}.parquet"
            publish_all(into, [(write_hidden(file, pa.concat_tables(tables), definition, damage), file)])
    for writer, said in describe.read_sources(fetched).items():
        facts = {key: value for key, value in said.items() if key != "writer"}
        describe.write_source(into, writer, {**facts, "clock": {"host": host, **shift.told()}})
    return dict(describe.read(fetched).get("host", {}))


def shifted(rows: pa.Table, shift: Shift) -> pa.Table:
    """Rows with ``time_ns`` and ``monotonic_ns`` on this host's clocks."""
    import numpy as np
    import pyarrow as pa

    for name in ("time_ns", "monotonic_ns"):
        origin, offset, slope = shift.line(name)
        times = rows[name].to_numpy(zero_copy_only=False).astype(np.int64)
        moved = times + offset + np.rint((times - origin) * slope).astype(np.int64)
        rows = rows.set_column(
            rows.schema.get_field_index(name), rows.schema.field(name), pa.array(moved, pa.int64())
        )
    return rows
