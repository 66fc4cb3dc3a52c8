"""The systemd unit of the daemon, with the least privileges that its policy works with."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from satline.errors import InputError
from satline.swapper.policy import Policy

_UNIT = """\
# Made for what the policy asked for when this was printed. Where it asks for more later,
# the daemon says at its start what it lacks; print the unit again then.
[Unit]
Description=Satline: working-set swapping of idle users

[Service]
Type=simple
ExecStart={program} run --policy {policy} --status /run/satline-swapper/status.json{options}
RuntimeDirectory=satline-swapper
RuntimeDirectoryMode=0750
Restart=on-failure
RestartSec=10
KillSignal=SIGTERM
TimeoutStopSec=30
OOMScoreAdjust=500
Nice=-5
LimitNOFILE=65536
LimitMEMLOCK=infinity
# SYS_NICE: advice that moves another process's pages. SYS_PTRACE: their page tables, which is which, and
# holding them ([admission]).
# PERFMON: to be woken by their page faults; Debian's kernels want kernel.perf_event_paranoid=2 besides, else
# the daemon says that it lacks them. DAC_READ_SEARCH: /proc files of other users.
# IPC_LOCK: to stay in storage. SYS_ADMIN, if you add it: sets are read in order of their places in swap.
{rights}AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateDevices=yes
PrivateTmp=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
{writable}ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
{families}UMask=0027

[Install]
WantedBy=multi-user.target
"""

_RIGHTS = "CAP_SYS_NICE CAP_SYS_PTRACE CAP_PERFMON CAP_DAC_READ_SEARCH CAP_IPC_LOCK"
# What PrivateTmp hides.
_HIDDEN = (Path("/tmp"), Path("/var/tmp"))


def make_unit(program: Path, policy_file: Path, policy: Policy, metrics: str | None = None) -> str:
    """Text of satline-swapper.service. When storage runs out, the daemon goes before any user.

    Parameters
    ----------
    policy
        What is in `policy_file`: it decides which privileges are needed.
    metrics
        ADDRESS:PORT at which Prometheus is answered.

    Raises
    ------
    InputError
        A path has a sign that a unit file would read as its own, or lies where the unit sees another
        directory; `metrics` is no address.
    """
    for path in (program, policy_file):
        if any(sign.isspace() or sign in "%\\\"'$;" or not sign.isprintable() for sign in str(path)):
            raise InputError(
                f"{path} cannot stand in a unit file", hint="choose a path of letters, digits, - . _ /"
            )
    lists = [Path(one["pid_file"]) for one in policy.tables["watch"] if one["pid_file"] is not None]
    for path in (program, policy_file, *lists):
        if any(path.is_relative_to(hidden) for hidden in _HIDDEN):
            raise InputError(
                f"{path} cannot be seen by the unit, which has a /tmp and a /var/tmp of its own (PrivateTmp)",
                hint="put it elsewhere: programs below /opt, policies below /etc, lists below /run",
            )
    return _UNIT.format(
        program=program,
        policy=policy_file,
        options="" if metrics is None else f" --metrics {metrics}",
        rights=_rights(policy),
        writable=_writable(policy),
        families=_families(metrics),
    )


def _rights(policy: Policy) -> str:
    rights, why = _RIGHTS, ""
    storage = policy.tables["storage"]
    if storage["pressure_share"] is not None and storage["cgroup"] is None:
        why = "# SYS_RESOURCE: a pressure trigger of the whole host. Linux 6.5 and newer grant it without.\n"
        rights += " CAP_SYS_RESOURCE"
    return f"{why}CapabilityBoundingSet={rights}\n"


def _writable(policy: Policy) -> str:
    """What the policy wants written of what the rest of the unit makes read-only."""
    lines = ""
    storage, zram = policy.tables["storage"], policy.tables["tiers"]["zram"]
    if zram:
        files = [f"-/sys/block/{name}/{file}" for name in zram for file in ("idle", "writeback")]
        lines += "# [tiers]: these must be there when the daemon starts.\n"
        lines += f"ReadWritePaths={' '.join(files)}\n"
    if storage["pressure_share"] is not None and storage["cgroup"] is not None:
        # Not ReadWritePaths of the one file: a slice that goes and comes again would have another, read-only.
        lines += "# storage.pressure_share is a trigger that is written into a file of the group's.\n"
        return f"{lines}ProtectControlGroups=no\n"
    return f"{lines}ProtectControlGroups=yes\n"


def _families(metrics: str | None) -> str:
    if metrics is None:
        return (
            "# Only the socket at which users are announced. `satline swapper unit --metrics ADDRESS:PORT`\n"
            "# prints a unit with AF_INET or AF_INET6, and without PrivateNetwork.\n"
            "PrivateNetwork=yes\n"
            "RestrictAddressFamilies=AF_UNIX\n"
        )
    host, _, port = metrics.rpartition(":")
    try:
        # As the daemon takes it. A zone (%eth0) would be a specifier of the unit's.
        six = host.startswith("[") and host.endswith("]")
        address = ipaddress.IPv6Address(host[1:-1]) if six else ipaddress.IPv4Address(host)
        if "%" in host or not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
            raise ValueError(port)
    except ValueError:
        raise InputError(
            f"--metrics {metrics!r} is no address with a port",
            hint="such as 127.0.0.1:9477 or [::1]:9477",
        ) from None
    return f"RestrictAddressFamilies=AF_UNIX {'AF_INET6' if address.version == 6 else 'AF_INET'}\n"
