"""A false `satline-machine` that obeys the real one's interface, and files for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satline.simulation import Program

HERE = Path(__file__).parent


@pytest.fixture
def false_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Makes a script what is found as `satline-machine`."""

    def make(script: Path) -> Path:
        directory = tmp_path / "bin"
        directory.mkdir()
        path = directory / "satline-machine"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{script}" "$@"\n')
        path.chmod(0o755)
        monkeypatch.setenv("SATLINE_BIN_DIR", str(directory))
        return path

    return make


@pytest.fixture
def program(false_program: Callable[[Path], Path]) -> Program:
    """The false program, also found as the real one would be."""
    return Program(false_program(HERE / "fake_machine.py"))


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
