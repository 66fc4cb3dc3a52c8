"""A false `satline-machine watch`, found as the real one would be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def program(false_program: Callable[[Path], Path]) -> Path:
    """It obeys commands as the real one does."""
    return false_program(HERE / "fake_watch.py")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A machine and a workload; the false program does not look into them."""
    paths = [tmp_path / "machine.toml", tmp_path / "load.toml"]
    for path in paths:
        path.write_text('name = "x"\n')
    return [str(path) for path in paths]
