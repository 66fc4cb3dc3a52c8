"""Makes the modules beside the tests importable; texts of `sar` are imported alike everywhere."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sar_texts import Import

from satline.importers import Options, sar_text
from satline.importers._import import import_recording
from satline.recording import Recording


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Import a text, or a file, into a recording of this test."""

    def run(source: str | Path, **options: object) -> Recording:
        if isinstance(source, str):
            file = tmp_path / "sar.txt"
            file.write_text(source)
            source = file
        path = tmp_path / "imported.satline"
        import_recording([str(source)], path, sar_text.IMPORTER, Options(**options))  # type: ignore[arg-type]
        return Recording.open(path)

    return run
