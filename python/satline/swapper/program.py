"""What the program satline-swapper answers."""

from __future__ import annotations

import subprocess

from satline.errors import InputError, SatlineError
from satline.systems.binaries import find_binary


def answer(*words: str, told: str = "") -> str:
    """The output of `satline-swapper` with these arguments, which reads `told`.

    Raises
    ------
    InputError
        Its input was wrong: its own words and remedy.
    """
    program = find_binary("satline-swapper")
    done = subprocess.run([program, *words], input=told, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message, _, hint = done.stderr.removeprefix("error: ").partition("\nhint: ")
        kind = InputError if done.returncode == 2 else SatlineError
        raise kind(message.strip(), hint=hint.strip())
    return done.stdout
