"""A false `satline-machine watch`, found as the real one would be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """It obeys commands as the real one does."""
    directory = tmp_path / "bin"
    directory.mkdir()
    path = directory / "satline-machine"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{HERE / "fake_watch.py"}" "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("SATLINE_BIN_DIR", str(directory))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A machine and a workload; the false program does not look into them."""
    paths = [tmp_path / "machine.toml", tmp_path / "load.toml"]
    for path in paths:
        path.write_text('name = "x"\n')
    return [str(path) for path in paths]
