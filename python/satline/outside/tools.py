"""Run a collector's own tool on a file from outside: time, memory, output and access are limited."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from satline.outside.confine import in_child, ruleset

_MIB = 1 << 20


@dataclass(frozen=True)
class ToolLimits:
    """What a tool may take.

    Attributes
    ----------
    cpu_s
        Its processor time.
    silence_s
        Time without any output, s; waiting for the reader does not count.
    output_bytes
        What it may print, and the largest file it may write.
    memory_bytes
        Its address space.
    """

    cpu_s: int = 8
    silence_s: float = 8.0
    output_bytes: int = 64 * _MIB
    memory_bytes: int = 1024 * _MIB

    @classmethod
    def of(cls, *files: Path) -> ToolLimits:
        """Limits for reading these files: more than any whole file of their length was seen to need."""
        size = 0
        for file in files:
            with contextlib.suppress(OSError):
                size += file.stat().st_size
        mib = size / _MIB
        return cls(
            cpu_s=round(6 + 20 * mib),
            silence_s=8 + 4 * mib,
            output_bytes=64 * _MIB + 1000 * size,
            memory_bytes=1024 * _MIB + 30 * size,
        )


@dataclass
class ToolEnded:
    """How a tool ended.

    Attributes
    ----------
    returncode
        As of subprocess.
    stopped
        Why it was ended for it: a limit, in words; empty: it ended itself.
    """

    returncode: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    stopped: str = ""


class Tool:
    """A tool that runs; `stdout` is what it prints, up to a limit.

    Attributes
    ----------
    ended
        Filled when the block ends.
    """

    def __init__(self, process: subprocess.Popen[bytes], limits: ToolLimits) -> None:
        self.ended = ToolEnded()
        self._process = process
        self._limits = limits
        assert process.stdout is not None
        self.stdout: IO[bytes] = io.BufferedReader(_Printed(self, process.stdout.fileno(), limits), 1 << 16)

    def stop(self, why: str) -> None:
        """End it and all that it started."""
        if why and not self.ended.stopped:
            self.ended.stopped = why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end, as long as it may be silent; its return code."""
        try:
            code = self._process.wait(self._limits.silence_s)
        except subprocess.TimeoutExpired:
            self.stop(f"it did not end within {self._limits.silence_s:.0f} s")
            code = self._process.wait()
        if code in (-signal.SIGXCPU, -signal.SIGKILL) and not self.ended.stopped:
            self.ended.stopped = f"it took more than {self._limits.cpu_s} s of processor time"
        if code == -signal.SIGXFSZ and not self.ended.stopped:
            self.ended.stopped = f"it wrote more than {self._limits.output_bytes:,} bytes"
        self.ended.returncode = code
        return code


class _Printed(io.RawIOBase):
    """What a tool prints; at a limit the tool is ended, and so is this."""

    def __init__(self, tool: Tool, descriptor: int, limits: ToolLimits) -> None:
        self._tool = tool
        self._descriptor = descriptor
        self._limits = limits
        self._left = limits.output_bytes
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._poll.poll(self._limits.silence_s * 1000):
            self._tool.stop(f"it printed nothing for {self._limits.silence_s:.0f} s")
            return 0
        data = os.read(self._descriptor, len(buffer))
        self._left -= len(data)
        if self._left < 0:
            self._tool.stop(f"it printed more than {self._limits.output_bytes:,} bytes")
            return 0
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def start_tool(
    command: Sequence[str], *, limits: ToolLimits, env: Mapping[str, str], writable: Sequence[Path] = ()
) -> Iterator[Tool]:
    """Run a tool while the block lasts, which reads `stdout`; it is ended with it, and `ended` says how.

    Parameters
    ----------
    writable
        Directories that it may write to; default: none.

    Raises
    ------
    FileNotFoundError
        There is no such tool.
    """
    rules = ruleset(writable)
    try:
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(env),
                start_new_session=True,
                preexec_fn=in_child(
                    rules,
                    cpu_s=limits.cpu_s,
                    memory_bytes=limits.memory_bytes,
                    file_bytes=limits.output_bytes,
                ),
            )
            tool = Tool(process, limits)
            try:
                yield tool
                # Whoever closes early ends it by SIGPIPE.
                assert process.stdout is not None
                process.stdout.close()
                tool.wait()
            except BaseException:
                tool.stop("")
                process.wait()
                raise
            finally:
                tool.stop("")
                if process.stdout is not None:
                    process.stdout.close()
            errors.seek(0)
            tool.ended.stderr = errors.read(1 << 16)
    finally:
        if rules is not None:
            os.close(rules)


def run_tool(
    command: Sequence[str],
    *,
    limits: ToolLimits,
    env: Mapping[str, str],
    writable: Sequence[Path] = (),
    into: IO[bytes] | None = None,
) -> ToolEnded:
    """Run a tool to its end.

    Parameters
    ----------
    into
        Where its output goes; default: the result's `stdout`.

    Raises
    ------
    FileNotFoundError
        There is no such tool.
    """
    begun = time.monotonic()
    kept: list[bytes] = []
    with start_tool(command, limits=limits, env=env, writable=writable) as tool:
        while block := tool.stdout.read(1 << 16):
            if into is None:
                kept.append(block)
            else:
                into.write(block)
            # Its processor time is limited too; this one sleeps between its lines.
            if time.monotonic() - begun > 10 * limits.silence_s + 10 * limits.cpu_s:
                tool.stop("it took too long")
                break
    if into is not None:
        into.flush()
    tool.ended.stdout = b"".join(kept)
    return tool.ended
