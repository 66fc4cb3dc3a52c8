"""Tools that read files from outside: whatever they do, they end, and touch nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from satline.importers import Options, import_recording, load
from satline.outside import confine
from satline.outside.confine import confinement
from satline.outside.tools import ToolEnded, ToolLimits, run_tool
from satline.recording import Recording

# On a busy machine it takes a while until a tool has begun: only who is to be silent is given a short time.
LIMITS = ToolLimits(cpu_s=20, silence_s=120.0, output_bytes=1 << 20, memory_bytes=1 << 30)
ENV = {"PATH": os.environ["PATH"]}


def python(code: str, limits: ToolLimits = LIMITS, writable: list[Path] | None = None) -> ToolEnded:
    return run_tool([sys.executable, "-IS", "-c", code], limits=limits, env=ENV, writable=writable or [])


def test_a_tool_that_ends_itself_is_told_as_it_ended() -> None:
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (done.returncode, done.stdout, done.stderr, done.stopped) == (3, b"out\n", b"err\n", "")


def test_one_that_does_nothing_is_ended() -> None:
    done = python("import time; time.sleep(3600)", replace(LIMITS, silence_s=1.0))
    assert "printed nothing for 1 s" in done.stopped


def test_one_that_computes_for_ever_is_ended() -> None:
    # However little of a processor it gets, that is what ends it.
    limits = replace(LIMITS, silence_s=600.0, cpu_s=1)
    assert "more than 1 s of processor time" in python("while True: pass", limits).stopped


def test_one_that_prints_for_ever_is_ended() -> None:
    done = python("while True: print('x' * 1000)")
    assert "printed more than 1,048,576 bytes" in done.stopped
    assert len(done.stdout) <= 1 << 20


def test_what_it_started_ends_with_it() -> None:
    code = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(3600)
print(child, flush=True)
while True:
    print("x" * 1000)
"""
    done = python(code)
    assert "printed more than" in done.stopped
    child = Path(f"/proc/{int(done.stdout.split()[0])}/stat")

    def lives() -> bool:
        try:
            return child.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    # It has been killed; a busy host takes its time to bury it.
    for _ in range(600):
        if not lives():
            return
        time.sleep(0.1)
    raise AssertionError("it lives on")


def test_one_that_takes_memory_without_end_fails() -> None:
    done = python("x = bytearray(4 << 30)")
    assert done.returncode
    assert b"MemoryError" in done.stderr


@pytest.mark.skipif(not confinement().files, reason="this kernel has no Landlock")
def test_it_writes_below_its_directory_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    code = f"""
import os
open({str(inside / "made")!r}, "w").write("x")
for act in (
    lambda: open({str(outside / "made")!r}, "w"), lambda: open({str(outside / "kept")!r}, "w"),
    lambda: os.unlink({str(outside / "kept")!r}), lambda: os.mkdir({str(outside / "dir")!r}),
    lambda: os.truncate({str(outside / "kept")!r}, 0),
):
    try:
        act()
        print("done")
    except PermissionError:
        print("refused")
"""
    done = python(code, writable=[inside])
    assert done.stdout == b"refused\n" * 5, done.stderr
    assert (inside / "made").read_text() == "x"
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.skipif(not confinement().tcp, reason="neither a network namespace nor Landlock of Linux 6.7")
def test_it_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = python(f"import socket; socket.create_connection(('127.0.0.1', {port}), 1); print('there')")
    assert done.stdout == b""
    assert done.returncode == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which root may")
@pytest.mark.skipif(not confinement().network, reason="no network namespaces")
def test_a_user_other_than_root_is_told_what_its_tools_are_kept_from() -> None:
    code = """
import os
from satline.outside.confine import confinement
from satline.outside.tools import ToolLimits, run_tool
os.setgroups([]); os.setgid(65534); os.setuid(65534); os.chdir("/")
done = run_tool(["cat", "/proc/net/dev"], limits=ToolLimits(), env={"PATH": "/usr/bin:/bin"})
interfaces = [line.split(":")[0].strip() for line in done.stdout.decode().splitlines() if ":" in line]
print(interfaces == ["lo"], "network" in confinement().lacks)
"""
    python_path = str(Path(confine.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": python_path}
    )
    # Kept from it, or told that it is not: never neither.
    assert done.stdout.split() in (["True", "False"], ["False", "True"]), done.stderr


def test_what_a_tool_is_not_kept_from_is_said_with_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.csv"
    source.write_text("time,forks\n" + "".join(f"2026-11-21T00:{m:02}:00Z,{m}\n" for m in range(9)))
    none = confine.Confinement(files=False, network=False, tcp=False)
    monkeypatch.setattr("satline.importers._import.confinement", lambda: none)
    importer = replace(load("csv"), tool="sadf")
    sink = import_recording([str(source)], tmp_path / "a.satline", importer, Options())
    (note,) = [n for n in Recording.open(sink.path).sources["import"]["notes"] if "sadf" in n]
    assert "writing files" in note
    assert "network" in note
