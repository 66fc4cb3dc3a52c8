"""The systemd units of a permanent recording: the monitor, and an hourly compaction."""

from __future__ import annotations

from pathlib import Path

import click

from satline.errors import InputError

RECORDING = Path("/var/lib/satline/host.satline")
UNITS = Path("etc/systemd/system")

_HARDENING = """\
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={parent}
PrivateDevices=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
UMask=0027
"""

_RECORD = """\
[Unit]
Description=Satline: record this host
RequiresMountsFor={parent}

[Service]
Type=simple
ExecStart={monitor} --recording {recording} --interval {interval}ms --users {users}
ExecStopPost=-{satline} recording compact {recording}
Restart=on-failure
RestartSec=10
KillSignal=SIGTERM
TimeoutStopSec=60
# No MemoryDenyWriteExecute: libraries of the compaction make code at run time.
# It reads other users' processes and their accounting, keeps its clockwork, and may do nothing else.
CapabilityBoundingSet=CAP_SYS_PTRACE CAP_NET_ADMIN CAP_DAC_READ_SEARCH CAP_SYS_NICE
RestrictAddressFamilies=AF_NETLINK AF_UNIX
LimitNOFILE=65536
{hardening}
[Install]
WantedBy=multi-user.target
"""

_COMPACT = """\
[Unit]
Description=Satline: bring closed segments of the recording to rest
ConditionPathExists={recording}/recording.toml

[Service]
Type=oneshot
ExecStart={satline} recording compact {recording}
Nice=19
IOSchedulingClass=idle
CapabilityBoundingSet=
RestrictAddressFamilies=AF_UNIX
PrivateNetwork=yes
{hardening}"""

_TIMER = """\
[Unit]
Description=Satline: compact the recording every hour

[Timer]
OnCalendar=*-*-* *:10:00 UTC
RandomizedDelaySec=10min
Persistent=yes

[Install]
WantedBy=timers.target
"""


def make_units(monitor: Path, satline: Path, recording: Path, interval_ms: int, users: str) -> dict[str, str]:
    """File name → text of each unit.

    Raises
    ------
    InputError
        A path has a sign that a unit file would read as its own.
    """
    for path in (monitor, satline, recording):
        if any(sign.isspace() or sign in "%\\\"'$;" or not sign.isprintable() for sign in str(path)):
            raise InputError(
                f"{path} cannot stand in a unit file", hint="choose a path of letters, digits, - . _ /"
            )
    values = {
        "monitor": monitor,
        "satline": satline,
        "recording": recording,
        "interval": interval_ms,
        "users": users,
        "parent": recording.parent,
    }
    hardening = _HARDENING.format(**values)
    return {
        "satline-record.service": _RECORD.format(hardening=hardening, **values),
        "satline-record-compact.service": _COMPACT.format(hardening=hardening, **values),
        "satline-record-compact.timer": _TIMER,
    }


def install(units: dict[str, str], recording: Path, root: Path) -> None:
    """Write the units below `root`, and say how they are switched on.

    Raises
    ------
    InputError
        No permission.
    """
    directory = root / UNITS
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (root / recording.parent.relative_to("/")).mkdir(parents=True, exist_ok=True, mode=0o750)
        for name, text in units.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise InputError(
            f"{error.filename or directory}: {error.strerror}",
            hint="installing needs root: sudo satline record --install",
        ) from None
    for name in units:
        click.echo(f"written: {directory / name}")
    wanted = " ".join(name for name in units if "[Install]" in units[name])
    click.echo(f"start them with: systemctl daemon-reload && systemctl enable --now {wanted}")
