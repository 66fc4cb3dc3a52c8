"""Makes the modules beside the tests importable."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in memory, where there is such a file system: the tests make thousands of files."""
    there = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="satline-faults-", dir=there) as made:
        yield Path(made).resolve()
