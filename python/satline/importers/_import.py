"""Sources → one recording, whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from satline.errors import InputError
from satline.importers import MODULES, load
from satline.importers._importer import Importer, Options
from satline.importers._sink import Sink
from satline.outside.confine import confinement

_SURE_ENOUGH, _NO_DOUBT = 0.3, 0.95


def guess(source: str) -> Importer:
    """The importer that is surest that the source is of its kind; the first that has no doubt.

    Raises
    ------
    InputError
        None of them is sure enough, or the source is not there.
    """
    best, surest = 0.0, None
    for name in MODULES:
        importer = load(name)
        sure = importer.recognise(source)
        if sure > best:
            best, surest = sure, importer
        if sure >= _NO_DOUBT:
            break
    if surest is not None and best >= _SURE_ENOUGH:
        return surest
    if "://" not in source and not Path(source).exists():
        raise InputError(f"{source}: no such file or directory", hint="is the name right?")
    raise InputError(
        f"{source}: none of the known formats",
        hint=f"say which with --format: {', '.join(MODULES)}; see `satline import --formats`",
    )


def import_recording(sources: Sequence[str], path: Path, importer: Importer, options: Options) -> Sink:
    """Import sources of one kind, in order of time, into a new recording.

    The recording is made in a hidden directory beside `path`, which gets its name when it is whole.

    Raises
    ------
    InputError
        `path` is there already, a source is given twice, or a source cannot be read; a mapping file for
        sources that take none.
    """
    if options.mapping is not None and not importer.mapping:
        able = [name for name in MODULES if load(name).mapping]
        raise InputError(
            f"--mapping {options.mapping}: {importer.name} takes no mapping file: what is in it has a fixed"
            " meaning",
            hint=f"leave --mapping out; it is for {', '.join(able)} (--format says what a source is)",
        )
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: is there already", hint="choose another name with -o, or remove it")
    resolved = [source if "://" in source else str(Path(source).resolve()) for source in sources]
    for number, name in enumerate(resolved):
        if name in resolved[:number]:
            raise InputError(f"{sources[number]}: given twice", hint="its readings would count twice")
    ordered = sorted(sources, key=importer.begins) if len(sources) > 1 else list(sources)
    try:
        hidden = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".importing", dir=path.parent))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another place with -o"
        ) from error
    try:
        sink = Sink(hidden / path.name)
        sink.start()
        for number, source in enumerate(ordered):

            def progress(part: float, before: int = number) -> None:
                options.progress((before + part) / len(ordered))

            importer.read(source, replace(options, progress=progress), sink)
        if importer.tool and (lacks := confinement().lacks):
            sink.note(f"{importer.tool}, which read it, could not be kept here from {lacks}")
        sink.finish()
        sink.path.rename(path)
        sink.path = path
        return sink
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
