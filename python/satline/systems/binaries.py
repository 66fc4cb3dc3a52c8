"""Where Satline's own programs are."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from satline.errors import SatlineError


def find_binary(
    name: str, environment: Mapping[str, str] = os.environ, executable: str = sys.executable
) -> Path:
    """The program `name` in $SATLINE_BIN_DIR, else beside the Python interpreter, else on the PATH.

    Raises
    ------
    SatlineError
        It is in none of them.
    """
    stated = environment.get("SATLINE_BIN_DIR")
    beside = [Path(stated)] if stated else [Path(executable).parent]
    for directory in beside:
        if os.access(directory / name, os.X_OK):
            return (directory / name).absolute()
    found = None if stated else shutil.which(name, path=environment.get("PATH"))
    if found is None:
        places = stated or f"{beside[0]} or on the PATH"
        raise SatlineError(
            f"the program {name} is not in {places}",
            hint="`pip install .` builds it; or build with cargo and set SATLINE_BIN_DIR=target/release",
        )
    return Path(found).absolute()
