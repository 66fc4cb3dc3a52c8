"""The systemd unit of the daemon, with the least privileges that it works with."""

from __future__ import annotations

from pathlib import Path

from satline.errors import InputError

_UNIT = """\
[Unit]
Description=Satline: working-set swapping of idle users

[Service]
Type=simple
ExecStart={program} run --policy {policy} --status /run/satline-swapper/status.json
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
# PERFMON: to be woken by their page faults. DAC_READ_SEARCH: /proc files of other users.
# IPC_LOCK: to stay in storage. SYS_ADMIN, if you add it: sets are read in order of their places in swap.
CapabilityBoundingSet=CAP_SYS_NICE CAP_SYS_PTRACE CAP_PERFMON CAP_DAC_READ_SEARCH CAP_IPC_LOCK
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateDevices=yes
PrivateTmp=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX
UMask=0027

[Install]
WantedBy=multi-user.target
"""


def make_unit(program: Path, policy: Path) -> str:
    """Text of satline-swapper.service. When storage runs out, the daemon goes before any user.

    Raises
    ------
    InputError
        A path has a sign that a unit file would read as its own.
    """
    for path in (program, policy):
        if any(sign.isspace() or sign in "%\\\"'$;" or not sign.isprintable() for sign in str(path)):
            raise InputError(
                f"{path} cannot stand in a unit file", hint="choose a path of letters, digits, - . _ /"
            )
    return _UNIT.format(program=program, policy=policy)
