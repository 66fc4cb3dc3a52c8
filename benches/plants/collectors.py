"""Other people's collectors beside `satline record`: sysstat's sadc, PCP's pmlogger, and atop.

Each records the same host at the same time, as its own documentation says, into one file of its own format. A
collector that this host does not have is left out, and the result says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

EVERY_S = 5
FROM = {"sysstat": "sa.data", "pcp": "pcp.meta", "atop": "atop.log"}
"""Collectors, and the file of each below a result's directory that `satline import` reads."""

_PCP_AGENTS = """\
root 1 pipe binary {agents}/root/pmdaroot
proc 3 pipe binary {agents}/proc/pmdaproc -d 3
linux 60 pipe binary {agents}/linux/pmdalinux
"""
# Without metrics that PCP derives itself: pmlogger 6.0 writes its whole state to its log for each.
_PCP_METRICS = """\
log mandatory on {every} seconds {{
    kernel.all.cpu kernel.all.running kernel.all.runnable kernel.all.blocked kernel.all.nprocs
    kernel.all.pswitch kernel.all.intr kernel.all.sysfork kernel.all.nusers kernel.all.load
    kernel.all.pressure.cpu kernel.all.pressure.memory kernel.all.pressure.io
    kernel.percpu.cpu hinv.ncpu hinv.physmem
    mem.physmem mem.util mem.vmstat swap.pagesin swap.pagesout swap.free swap.length
    disk.dev.read disk.dev.write disk.dev.read_bytes disk.dev.write_bytes disk.dev.avactive disk.dev.aveq
    disk.dev.read_rawactive disk.dev.write_rawactive
    network.interface.in.bytes network.interface.out.bytes
    cgroup.cpusched cgroup.cpuacct cgroup.memory cgroup.blkio
    proc.id proc.psinfo.cmd proc.psinfo.ppid proc.psinfo.start_time proc.psinfo.utime proc.psinfo.stime
    proc.psinfo.minflt proc.psinfo.maj_flt proc.psinfo.rss proc.psinfo.sname proc.psinfo.threads
    proc.io.read_bytes proc.io.write_bytes proc.schedstat
}}
log mandatory on once {{ kernel.uname hinv.pagesize }}
"""


def _first(*places: str) -> str | None:
    return next((place for place in places if Path(place).exists()), None)


@dataclass
class Collectors:
    """Collectors that run, and those that could not be started."""

    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)

    def start(self, place: Path, prepare: Callable[[], None]) -> None:
        """Start all of them, each writing below this directory; `prepare` runs in each process before it."""
        place = place.resolve()
        for name, begin in (("sysstat", self._sysstat), ("pcp", self._pcp), ("atop", self._atop)):
            try:
                begin(place, prepare)
            except (OSError, LookupError) as error:
                self.without[name] = str(error)

    def stop(self) -> None:
        """End them as their own services do, the last one started first."""
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.running.clear()

    def _run(self, command: list[str], place: Path, prepare: Callable[[], None], **more: str) -> None:
        with (place / "collectors.log").open("ab") as log:
            self.running.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=place,  # PCP's agents write their logs where they are
                    preexec_fn=prepare,
                    env={**os.environ, **more},
                )
            )

    def _sysstat(self, place: Path, prepare: Callable[[], None]) -> None:
        program = _first("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc")
        if program is None:
            raise LookupError("sadc is not installed")
        self._run([program, "-S", "XALL", str(EVERY_S), str(place / FROM["sysstat"])], place, prepare)

    def _atop(self, place: Path, prepare: Callable[[], None]) -> None:
        program = shutil.which("atop")
        if program is None:
            raise LookupError("atop is not installed")
        self._run([program, "-w", str(place / FROM["atop"]), str(EVERY_S)], place, prepare)

    def _pcp(self, place: Path, prepare: Callable[[], None]) -> None:
        daemon, logger = "/usr/lib/pcp/bin/pmcd", "/usr/lib/pcp/bin/pmlogger"
        agents = "/var/lib/pcp/pmdas"
        if not all(Path(needed).exists() for needed in (daemon, logger, agents)):
            raise LookupError("pmcd or pmlogger is not installed")
        if not Path("/var/lib/pcp/pmns/root").exists():
            raise LookupError("PCP's name space was not built: run /var/lib/pcp/pmns/Rebuild")
        # Sockets have short paths; result directories may not.
        socket = Path(f"/run/satline-plants-{os.getpid()}.socket")
        (place / "pmcd.conf").write_text(_PCP_AGENTS.format(agents=agents))
        (place / "pmlogger.conf").write_text(_PCP_METRICS.format(every=EVERY_S))
        self._run(
            [
                daemon,
                "-f",
                "-c",
                f"{place}/pmcd.conf",
                "-s",
                str(socket),
                "-p",
                "45321",
                "-l",
                f"{place}/pmcd.log",
            ],
            place,
            prepare,
        )
        for _ in range(100):
            if socket.exists():
                break
            time.sleep(0.1)
        else:
            raise LookupError(f"pmcd did not start: see {place / 'pmcd.log'}")
        self._run(
            [
                logger,
                "-h",
                f"unix://{socket}",
                "-c",
                f"{place}/pmlogger.conf",
                "-t",
                f"{EVERY_S}s",
                "-l",
                f"{place}/pmlogger.log",
                f"{place}/pcp",
            ],
            place,
            prepare,
        )
