"""A program's own references, by valgrind's lackey through a pipe: no text is kept in between."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from satline.errors import InputError, SatlineError
from satline.systems.binaries import PATIENCE_S, Called
from satline.traces._program import Program, Progress, heard


def record(
    command: Sequence[str],
    output: Path,
    *,
    page_bytes: int = 4096,
    first: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    program: Program | None = None,
) -> dict[str, Any]:
    """Run `command` under lackey and keep its page references; its own input and output stay its own.

    Children of the command are not followed. Ctrl-C ends the command; what came until then is kept.

    Parameters
    ----------
    page_bytes
        Size of a page, a power of two.
    first
        Only so many references; the command is ended then.

    Returns
    -------
    What was kept, as ``satline-traces import --json`` says it, with ``status``: how the command ended.

    Raises
    ------
    InputError
        Valgrind or the command is not there; the file is there already.
    SatlineError
        Nothing could be recorded.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise InputError(
            "valgrind is not installed",
            hint="apt-get install valgrind; or import a trace made elsewhere: `satline trace import`",
        )
    if shutil.which(command[0]) is None:
        raise InputError(
            f"{command[0]}: no such program", hint="give its path, and put `--` before the command"
        )
    if output.exists():
        raise InputError(f"{output} is there already", hint="name another file, or remove it")
    program = program or Program()
    words = ["import", "--format", "lackey", "-", "--output", str(output), "--json", "--progress"]
    words += ["--command", shlex.join(command), "--page-bytes", str(page_bytes)]
    if first is not None:
        words += ["--first", str(first)]
    reads, writes = os.pipe()
    try:
        # Apart: on Ctrl-C it reads on to the end of what the command wrote.
        called = Called([program.path, *words], stdin=reads, apart=True)
    except BaseException:
        os.close(writes)
        raise
    finally:
        os.close(reads)
    with called:
        options = ["--tool=lackey", "--trace-mem=yes", f"--log-fd={writes}"]
        try:
            traced = subprocess.Popen([valgrind, *options, "--", *command], pass_fds=(writes,))
        finally:
            os.close(writes)
        try:
            kept, interrupted = _heard(called, traced, progress)
        finally:
            status = _ended(traced)
    if kept is None:
        raise SatlineError(
            f"nothing was recorded: valgrind ended with status {status}",
            hint=f"try it by hand: valgrind --tool=lackey {shlex.join(command)}",
        )
    return {**kept, "status": status, "interrupted": interrupted}


def _heard(
    called: Called, traced: subprocess.Popen[bytes], progress: Callable[[Progress], None] | None
) -> tuple[dict[str, Any] | None, bool]:
    """What was kept, and whether Ctrl-C ended it; the second Ctrl-C is obeyed at once."""
    try:
        return called.result(heard(progress)), False
    except KeyboardInterrupt:
        _ended(traced)
        return called.result(heard(progress)), True
    except InputError as error:
        if "no reference" in error.message or "no known format" in error.message:
            return None, False
        raise


def _ended(traced: subprocess.Popen[bytes]) -> int:
    """The command's status. It has lost its reader: by itself it would end at its next line."""
    try:
        return traced.wait(1.0)
    except subprocess.TimeoutExpired:
        traced.terminate()
    try:
        return traced.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        traced.kill()
        return traced.wait()
