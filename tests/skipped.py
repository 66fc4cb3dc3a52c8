"""What a run of the tests left out: one line for each reason, and how to have it run.

    python tests/skipped.py FILE...

prints that of whole runs: files of pytest's counts, as `write` leaves them, and what
`cargo test -- --show-output` printed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

# What a reason holds → how it is said, and what to do: the first that fits. Both may use the pattern's parts,
# and a reason that is not here is said as it is.
KNOWN = (
    (r"no guest to start", "no guest image", "`make test-guest`, which builds it"),
    (r"emulated Python takes long", "guests with systemd take long", "`make test-guest`"),
    (r"needs-\w+-\w+\.raw is not there", "no disk with a guest's Python packages", "`make test-guest`"),
    (r"guest is older", "a guest image of an earlier version", "`satline guest build --again`"),
    (r"program (\S+), which is not on the PATH", r"\1 is not installed", "install QEMU (qemu-system-x86)"),
    (r"(satline-\w+) (is not built|is not in )", r"\1 is not built", "`make setup`"),
    (
        r"published|shared data|no logs in|no archives in|archive, or|shared/data/",
        "published logs of other hosts are not here",
        "they belong into ../shared/data",
    ),
    (r"PCP|pmdumplog|pmlogger", "PCP is not installed", "`apt-get install pcp python3-pcp`"),
    (r"sysstat", "sysstat is not installed", "`apt-get install sysstat`"),
    (r"atopconvert|atop is not installed", "no atop of 2.8 or later", "`apt-get install atop`"),
    (r"node_exporter", r"node_exporter is not installed", "`apt-get install prometheus-node-exporter`"),
    (r"valgrind", "valgrind is not installed", "`apt-get install valgrind`"),
    (r"nginx", "nginx is not installed", "`apt-get install nginx-light`"),
    (r"sshd|OpenSSH", "no SSH server", "`apt-get install openssh-server openssh-client`, and run as root"),
    (r"libssh2", "no libssh2", "`apt-get install libssh2-1`"),
    (r"openssl command", "no openssl", "`apt-get install openssl`"),
    (r"clang", "no clang, or no libbpf-dev", "`apt-get install clang libbpf-dev`"),
    (r"systemd-analyze", "no systemd-analyze", "`apt-get install systemd`"),
    (r"iproute2", "no ip, or not root", "`apt-get install iproute2`, and run as root"),
    (r"setpriv", "no setpriv, or not root", "`apt-get install util-linux`, and run as root"),
    (
        r"no unshare|namespaces of an ordinary user",
        "no user namespaces",
        "allow them (user.max_user_namespaces)",
    ),
    (r"x86-64 alone", "needs x86-64", ""),
    (r"needs root and a switch that is off", "needs a switch of the kernel that is on here", ""),
    (r"(?i)\broot\b|only root|root's|mount|CAP_|Operation not permitted", "needs root", "run as root"),
    (r"no FUSE|FUSE", "no /dev/fuse", "`modprobe fuse`"),
    (r"zram", "no zram", "`modprobe zram`"),
    (r"Landlock", "the kernel has no Landlock", "Linux 5.13 or newer with it switched on"),
    (r"ignored by cargo", "ignored by cargo", "`cargo test --workspace -- --ignored`"),
)


def understood(reason: str) -> tuple[str, str]:
    """How a reason is said, and what to do about it; empty: nothing is known."""
    for pattern, said, remedy in KNOWN:
        if found := re.search(pattern, reason):
            return found.expand(said), found.expand(remedy)
    return reason, ""


def lines(reasons: Counter[str]) -> list[str]:
    """A line for each reason, those of most tests first."""
    counts: Counter[tuple[str, str]] = Counter()
    for reason, count in reasons.items():
        counts[understood(reason)] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{n} skipped: {said}{': ' + remedy if remedy else ''}" for (said, remedy), n in ordered]


def of_reports(reports: Iterable[object]) -> Counter[str]:
    """Reasons of pytest's reports of skipped tests."""
    found: Counter[str] = Counter()
    for report in reports:
        where = getattr(report, "longrepr", None)
        # File, line and reason; of another worker it is a list.
        text = str(where[2]) if isinstance(where, Sequence) and len(where) == 3 else str(where)
        found[" ".join(text.removeprefix("Skipped: ").split())] += 1
    return found


def write(reasons: Counter[str], path: Path) -> None:
    """Add to a file what `read` takes."""
    with path.open("a") as file:
        file.writelines(f"{count}\t{reason}\n" for reason, count in reasons.items())


def read(path: Path) -> Counter[str]:
    """Reasons in a file: as `write` leaves it, or as cargo prints them."""
    found: Counter[str] = Counter()
    if not path.exists():
        return found
    for line in path.read_text(errors="replace").splitlines():
        if told := re.fullmatch(r"(\d+)\t(.*)", line):
            found[told[2]] += int(told[1])
        elif line.startswith("skipped: "):
            found[line.removeprefix("skipped: ")] += 1
        elif (told := re.match(r"test result: .* (\d+) ignored;", line)) and told[1] != "0":
            found["ignored by cargo"] += int(told[1])
    return found


def main() -> None:
    """Print that of the files named."""
    found: Counter[str] = Counter()
    for name in sys.argv[1:]:
        found += read(Path(name))
    print("\n".join(["", *(lines(found) or ["nothing was skipped"])]))


if __name__ == "__main__":
    main()
