"""Scrapes of node_exporter for tests: of the real one where it is installed, and made ones."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping

EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
Sample = tuple[str, dict[str, str], float]
T0_MS = 1_795_000_000_000


def real_scrapes(count: int, pause_s: float = 0.3) -> list[str]:
    """The texts that an exporter of this host gives."""
    for _ in range(5):
        if texts := _scrapes(count, pause_s):
            return texts
    raise AssertionError("the exporter ends by itself")


def _scrapes(count: int, pause_s: float) -> list[str]:
    """None: it has ended, as where somebody else took its port meanwhile."""
    assert EXPORTER is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    exporter = subprocess.Popen(
        [EXPORTER, f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        texts: list[str] = []
        deadline = time.monotonic() + 120
        while len(texts) < count and time.monotonic() < deadline:
            if exporter.poll() is not None:
                return []
            try:
                with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as reply:
                    texts.append(reply.read().decode())
            except OSError:
                pass
            time.sleep(pause_s)
        assert len(texts) == count, "the exporter does not answer"
        return texts
    finally:
        exporter.terminate()
        exporter.wait()


def made_scrape(
    at_s: float, busy_s: float, *, boot_s: float = 1_794_000_000, node: str = "web1"
) -> list[Sample]:
    """What an exporter of a host with two processors would say."""
    samples: list[Sample] = [
        ("node_time_seconds", {}, at_s),
        ("node_boot_time_seconds", {}, boot_s),
        ("node_uname_info", {"nodename": node, "release": "6.1", "machine": "x86_64"}, 1.0),
        ("node_context_switches_total", {}, round(1000 * busy_s)),
        ("node_vmstat_pgpgin", {}, 2 * busy_s),
        ("node_procs_running", {}, 3.0),
        ("node_memory_Cached_bytes", {}, 1000.0),
        ("node_memory_Buffers_bytes", {}, 24.0),
        ("node_pressure_cpu_waiting_seconds_total", {}, busy_s / 4),
        ("node_filesystem_avail_bytes", {"mountpoint": "/"}, 5.0),
    ]
    for cpu in ("0", "1"):
        modes = {"user": busy_s, "nice": 0.0, "system": busy_s / 10, "irq": 0.01, "softirq": 0.02}
        modes |= {"idle": at_s - 1_794_000_000 - 1.1 * busy_s, "iowait": 0.5, "steal": 0.0}
        samples += [("node_cpu_seconds_total", {"cpu": cpu, "mode": m}, v) for m, v in modes.items()]
        guests = {"user": busy_s / 2, "nice": 0.0}
        samples += [("node_cpu_guest_seconds_total", {"cpu": cpu, "mode": m}, v) for m, v in guests.items()]
    samples += [("node_disk_reads_completed_total", {"device": d}, 10 * busy_s) for d in ("sda", "zram0")]
    samples += [("node_disk_io_time_seconds_total", {"device": d}, busy_s / 2) for d in ("sda", "zram0")]
    for way in ("receive", "transmit"):
        samples.append((f"node_network_{way}_bytes_total", {"device": "eth0"}, 100 * busy_s))
        samples += [(f"node_network_{way}_{w}_total", {"device": "eth0"}, 1.0) for w in ("errs", "drop")]
    return samples


def labelled(labels: Mapping[str, str]) -> str:
    """Labels as the text formats write them."""
    inside = ",".join(
        '{}="{}"'.format(k, v.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for k, v in labels.items()
    )
    return f"{{{inside}}}" if inside else ""


def text_of(samples: list[Sample], time: str = "") -> str:
    """Samples as lines of text, each with `time` behind."""
    return "".join(f"{n}{labelled(x)} {v!r}{' ' + time if time else ''}\n" for n, x, v in samples)
