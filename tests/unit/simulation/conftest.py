"""A false `satline-machine` that obeys the real one's interface, and files for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from satline.simulation import Program

HERE = Path(__file__).parent


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The false program, also found as the real one would be."""
    directory = tmp_path / "bin"
    directory.mkdir()
    path = directory / "satline-machine"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{HERE / "fake_machine.py"}" "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("SATLINE_BIN_DIR", str(directory))
    return Program(path)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "drum.toml"
    path.write_text('name = "drum"\nnote = "A false one. It has a drum."\n')
    return path


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "load.toml"
    path.write_text('name = "load"\n')
    return path
