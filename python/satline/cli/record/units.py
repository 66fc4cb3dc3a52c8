"""The systemd units of a permanent recording: the monitor, an hourly compaction, and what it lets go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.errors import InputError

if TYPE_CHECKING:
    from satline.cli.record.plan import Plan

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
ProtectControlGroups={protect_groups}
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
{before}ExecStart={command}
{after}Restart=on-failure
RestartSec=10
KillSignal=SIGTERM
TimeoutStopSec=60
# It reads other users' processes and their accounting, keeps its clockwork, and may do nothing else.
CapabilityBoundingSet=CAP_SYS_PTRACE CAP_NET_ADMIN CAP_DAC_READ_SEARCH CAP_SYS_NICE CAP_BPF CAP_PERFMON
RestrictAddressFamilies=AF_NETLINK AF_UNIX
LimitNOFILE=65536
{probes}{hardening}
[Install]
WantedBy=multi-user.target
"""

# No MemoryDenyWriteExecute with it: its libraries make code at run time.
_COMPACT_AT_END = """\
ExecStopPost=-{satline} recording compact {recording}
"""

# "+": with all rights, since the service itself may write no setting of the kernel. ExecStopPost is done
# however the service ended, also by SIGKILL; what holds the switch goes with a boot, as the setting does.
_SWITCH_ON = """\
ExecStartPre=+-{satline} recording delay-accounting on satline-record.service
"""
_SWITCH_BACK = """\
ExecStopPost=+-{satline} recording delay-accounting off satline-record.service
"""
# The probe io makes its file in /var/tmp.
_PROBES = """\
PrivateTmp=yes
"""

_COMPACT = """\
[Unit]
Description=Satline: bring closed segments of the recording to rest
ConditionPathExists={recording}/recording.toml

[Service]
Type=oneshot
ExecStart={satline} recording compact {recording}
{prune}Nice=19
IOSchedulingClass=idle
CapabilityBoundingSet=
RestrictAddressFamilies=AF_UNIX
PrivateNetwork=yes
{hardening}"""

_PRUNE = """\
ExecStart={satline} recording prune {recording}{limits}
"""

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


def make_units(plan: Plan, satline: Path | None, *, delay_accounting: bool = False) -> dict[str, str]:
    """File name → text of each unit.

    Parameters
    ----------
    satline
        The program that compacts; ``None``: only the monitor is there, and nothing is compacted, let go or
        switched.

    Raises
    ------
    InputError
        A path has a sign that a unit file would read as its own.
    """
    command = plan.arguments()
    for word in (*command, *([] if satline is None else [str(satline)])):
        if any(sign.isspace() or sign in "%\\\"'$;" or not sign.isprintable() for sign in word):
            raise InputError(
                f"{word} cannot stand in a unit file", hint="choose a path of letters, digits, - . _ /"
            )
    limits = f" --keep {plan.keep_s:.0f}s" if plan.keep_s is not None else ""
    limits += f" --max-size {plan.max_bytes}" if plan.max_bytes is not None else ""
    in_group = plan.cgroup is not None and bool(plan.thermometers)
    values = {"satline": satline, "recording": plan.recording, "parent": plan.recording.parent}
    after = [_SWITCH_BACK] if delay_accounting and satline else []
    after += [_COMPACT_AT_END] if satline else []
    record = _RECORD.format(
        command=" ".join(command),
        before=_SWITCH_ON.format(**values) if delay_accounting and satline else "",
        after="".join(part.format(**values) for part in after),
        probes=_PROBES if plan.thermometers else "",
        # Probes enter the load's group.
        hardening=_HARDENING.format(protect_groups="no" if in_group else "yes", **values),
        **values,
    )
    if satline is None:
        return {"satline-record.service": record}
    return {
        "satline-record.service": record,
        "satline-record-compact.service": _COMPACT.format(
            hardening=_HARDENING.format(protect_groups="yes", **values),
            prune=_PRUNE.format(limits=limits, **values) if limits else "",
            **values,
        ),
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
