"""What an archive holds about a host, by the collector's own tool or the bench's own reader, not by Satline.

An archive of a suite may test one feature with sample metrics: that it has no answer is no failure.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from _courses import read, tool

HOST = ("kernel.", "mem.", "disk.", "swap.", "swapdev.", "network.", "proc.", "cgroup.")
# The host's name and version are no use of it.
NAMES = ("kernel.uname.",)
_DESCRIBED = re.compile(r"^PMID: \S+ \(([^)]+)\)")
_LOGGED = re.compile(r"^\s+[\d.]+ \(([^)]+)\):(.*)$")


def holds(kind: str, path: Path) -> str:
    """What an archive holds about a host; of others than PCP's, whether any use of a CPU, disk or memory."""
    if kind == "pcp":
        return pcp(path)
    if kind in ("sysstat", "atop", "sar-text"):
        return "several readings" if any(read(kind, path).used.values()) else "nothing"
    return ""


def pcp(path: Path) -> str:
    """`several readings`, `single readings` or `nothing` about a host: of metrics below HOST, how often the
    most frequent was logged with a value."""
    base = str(path).removesuffix(".meta")
    lines = tool("pmdumplog", "-d", base)
    described = [found.group(1) for line in lines if (found := _DESCRIBED.match(line))]
    names = [name for group in described for name in group.split(" or ")[:1] if _of_host(name)]
    if not names:
        return "nothing"
    logged: Counter[str] = Counter()
    for line in tool("pmdumplog", base, *names):
        found = _LOGGED.match(line)
        if found and "No values" not in found.group(2) and "Error" not in found.group(2):
            logged[found.group(1)] += 1
    most = max(logged.values(), default=0)
    return "several readings" if most > 1 else "single readings" if most else "nothing"


def _of_host(name: str) -> bool:
    own = name.removeprefix("irix.")
    return own.startswith(HOST) and not own.startswith(NAMES)
