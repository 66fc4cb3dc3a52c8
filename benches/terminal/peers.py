"""The same responder driven by other tools, where `pip install pexpect asyncssh locust` was done."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from recorded import spread, stamps
from sshd import Sshd


def peers(release: Path, place: Path, seconds: int) -> dict[str, dict[str, Any] | None]:
    """By name and pace; ``None``: it cannot be imported."""
    found: dict[str, dict[str, Any] | None] = {"pexpect saturated": _pexpect(release, place, seconds)}
    for pace, users, think in (("paced", 50, 0.5), ("saturated", 8, 0.0)):
        found[f"asyncssh {pace}"] = _asyncssh(release, place / f"sshd-{pace}", users, think, seconds)
        found[f"locust http {pace}"] = _locust(release, users, think, seconds)
        found[f"locust pty {pace}"] = _locust_pty(release, users, think, seconds)
    return found


def _pexpect(release: Path, place: Path, seconds: int) -> dict[str, Any] | None:
    """The same responder on a pty, driven by pexpect; ``None``: it cannot be imported."""
    try:
        import pexpect
    except ImportError:
        return None
    log = place / "pexpect.log"
    child = pexpect.spawn(str(release / "examples/stamping_responder"), [str(log)], echo=False)
    child.delaybeforesend = None
    child.expect("ready\r\n")
    read: list[int] = []
    began, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        child.sendline(f"line {len(read)}")
        child.expect("answer [0-9]+\r\n")
        read.append(time.monotonic_ns())
    cpu = time.process_time() - cpu
    child.close(force=True)
    true = [written for _, written in stamps(log.read_text())]
    error = spread([(at - written) / 1000 for at, written in zip(read, true, strict=False)])
    return {
        "per_second": len(read) / seconds,
        "cpu_us": cpu * 1e6 / len(read),
        "error_us": error,
        "version": pexpect.__version__,
        "python": sys.version.split()[0],
    }


def _asyncssh(release: Path, place: Path, users: int, think: float, seconds: int) -> dict[str, Any] | None:
    """A connection for each user, all in one process."""
    if importlib.util.find_spec("asyncssh") is None or not Sshd.is_here():
        return None
    import asyncssh

    async def user(sshd: Sshd, counts: list[int]) -> None:
        connection = await asyncssh.connect(
            "127.0.0.1",
            sshd.port,
            username=sshd.user,
            client_keys=[str(sshd.place / "key")],
            known_hosts=str(sshd.place / "known"),
            config=None,
        )
        async with connection:
            command = f"{release}/examples/stamping_responder /dev/null"
            process = await connection.create_process(command, term_type="dumb")
            await process.stdout.readuntil("ready\r\n")
            while True:
                if think:
                    await asyncio.sleep(random.expovariate(1 / think))
                process.stdin.write(f"line {random.randint(1, 1000)}\r")
                # The echo, then the answer.
                await process.stdout.readline()
                await process.stdout.readline()
                counts[0] += 1

    async def run(sshd: Sshd) -> dict[str, Any]:
        counts = [0]
        tasks = []
        for _ in range(users):
            tasks.append(asyncio.create_task(user(sshd, counts)))
            await asyncio.sleep(0.5)
        await asyncio.sleep(3)
        before, began, cpu = counts[0], time.monotonic(), time.process_time()
        await asyncio.sleep(seconds)
        done, took, used = counts[0] - before, time.monotonic() - began, time.process_time() - cpu
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        failed = sum(not isinstance(end, asyncio.CancelledError) for end in ends)
        return {"per_second": done / took, "cpu_us": used * 1e6 / max(1, done), "not_ok": failed}

    with Sshd(place) as sshd:
        return {**asyncio.run(run(sshd)), "version": asyncssh.__version__}


def _locust(release: Path, users: int, think: float, seconds: int) -> dict[str, Any] | None:
    """Its own users on the HTTP responder, in a process of its own."""
    if importlib.util.find_spec("locust") is None:
        return None
    command = [str(release / "examples/stamping_responder"), "/dev/null", "http"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        program = [sys.executable, str(Path(__file__).with_name("peer_locust.py"))]
        plan = [port, str(users), str(think), str(seconds)]
        output = subprocess.run([*program, *plan], check=True, capture_output=True, text=True).stdout
    finally:
        server.kill()
        server.wait()
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def _locust_pty(release: Path, users: int, think: float, seconds: int) -> dict[str, Any] | None:
    """Users of our own for it on the responder's ptys, since it has none, in a process of their own."""
    if importlib.util.find_spec("locust") is None or importlib.util.find_spec("ptyprocess") is None:
        return None
    program = [sys.executable, str(Path(__file__).with_name("peer_locust_pty.py"))]
    plan = [str(release / "examples/stamping_responder"), str(users), str(think), str(seconds)]
    output = subprocess.run([*program, *plan], check=True, capture_output=True, text=True).stdout
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures
