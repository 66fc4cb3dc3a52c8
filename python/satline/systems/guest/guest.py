"""A guest: a machine of QEMU's, started for a run, reached over SSH at 127.0.0.1, thrown away after."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from satline.errors import InputError, SatlineError
from satline.systems import Conditions, Configuration
from satline.systems.binaries import find_binary
from satline.systems.guest import KVM, GuestSettings, accelerator, snapshot
from satline.systems.guest.files import cache_directory
from satline.systems.guest.image import ALIAS, Image, find_image
from satline.systems.remote import RemoteSettings
from satline.systems.remote.calls import Agent
from satline.systems.remote.connection import Connection
from satline.systems.remote.copies import make_bundle
from satline.systems.remote.host import PROGRAMS, OverSsh

MANY = 100_000
FURNISH_TIMEOUT_S = 300.0
PARTS = "/opt/satline"
_FURNISH = (
    f"mkdir -p {PARTS} && tar -xf - -C {PARTS} && {PARTS}/bin/satline-monitor --version && "
    f"export PYTHONPATH={PARTS}/python && python3 -S -m compileall -q {PARTS}/python && "
    f"python3 -S -m satline.systems.remote.agent {PARTS} < /dev/null && sync"
)


class Guest(OverSsh):
    """A guest with the memory, processors, paging devices and kernel's settings that the study names.

    Parameters
    ----------
    state
        Directory for the ledger; ``None``: the usual place.
    cache
        Where the image and the snapshots are; ``None``: the usual place.
    """

    kind = "guest"
    scratch = Path("/var/tmp")

    def __init__(self, *, state: Path | None = None, cache: Path | None = None) -> None:
        super().__init__(state=state)
        self._cache = cache or cache_directory()
        self._started: snapshot.Started | None = None
        self._settings = GuestSettings()
        self._accelerator = accelerator.Accelerator("", "")
        self._bundle = b""

    def reach(self, configuration: Configuration, directory: Path, mark: dict[str, str]) -> RemoteSettings:
        if isinstance(configuration.target, GuestSettings):
            self._settings = configuration.target
        settings = self._settings
        self._bundle = make_bundle(find_binary(name) for name in PROGRAMS)
        image = find_image(self._cache, settings.disk, settings.kernel, settings.release)
        self._accelerator = accelerator.choose(settings.accelerator, image, self._cache, mark)
        if self._accelerator.name != KVM:
            configuration.say(f"the guest's processors are emulated: {self._accelerator.why}")
        self._started = snapshot.start(
            image,
            settings,
            self._accelerator.name,
            directory,
            self._sockets / "qmp",
            self._cache,
            environment=mark,
            making=lambda: self._making(configuration),
            furniture=hashlib.sha256(self._bundle).hexdigest(),
            furnish=lambda port: self._furnish(self._ssh(image, port), directory, mark),
            say=configuration.say,
        )
        booted = self._started.boot_s
        configuration.say(
            ("" if booted is None else f"booted in {booted:.1f} s; ")
            + f"restored from its snapshot in {self._started.restore_s:.1f} s"
        )
        return self._ssh(image, self._started.port)

    def _ssh(self, image: Image, port: int) -> RemoteSettings:
        return RemoteSettings(
            host="root@127.0.0.1",
            port=port,
            identity=image.identity,
            known_hosts=image.known_hosts,
            sessions_per_connection=MANY,
            options=(f"HostKeyAlias={ALIAS}",),
            config=False,
            where="the guest",
        )

    def _furnish(self, settings: RemoteSettings, directory: Path, mark: dict[str, str]) -> None:
        """Put the run's parts into a guest that is to be saved, and use them once: they are warm then."""
        connection = Connection(settings, self._sockets, 0, mark)
        connection.open()
        try:
            with connection.start(_FURNISH, directory / "furnish.log") as process:
                _, _ = process.communicate(self._bundle, FURNISH_TIMEOUT_S)
            if process.returncode != 0:
                said = (directory / "furnish.log").read_text(errors="replace").strip()
                raise SatlineError(f"the guest cannot be furnished: {said}")
        finally:
            connection.close()

    def parts(self, directory: str) -> tuple[str, bytes | None]:
        del directory
        return PARTS, None

    def _making(self, configuration: Configuration) -> Path:
        (self._cache / "snapshots").mkdir(exist_ok=True, mode=0o700)
        return self._directory(self._cache / "snapshots", configuration.run_id, "-snapshot")

    def set_up(self, agent: Agent, conditions: Conditions) -> None:
        assert self._started is not None
        settings = self._settings
        # It goes on with the clock that it was saved with.
        agent.do("set_clock", time_ns=time.time_ns())
        told, why = settings.stated(), ""
        devices = [f"/dev/vd{chr(ord('b') + number)}" for number in range(settings.swap_disks)]
        if devices:
            why = (
                agent.do("swap_on", devices=devices, size_bytes=settings.swap_disk_bytes // 4096 * 4096) or ""
            )
        if why:
            raise SatlineError(f"the guest's paging devices cannot be used: {why}")
        not_set = agent.do("set", files=settings.knobs())
        if not_set:
            raise InputError(
                f"the guest does not take [guest.knobs]: {'; '.join(not_set.values())}",
                hint="leave out what its kernel lacks",
            )
        conditions.limits = {**told, **conditions.limits}
        conditions.described |= {
            "accelerator": self._accelerator.name,
            "restore_seconds": round(self._started.restore_s, 2),
        }
        if self._accelerator.why:
            conditions.described["accelerator_why"] = self._accelerator.why
        if self._started.boot_s is not None:
            conditions.described["boot_seconds"] = round(self._started.boot_s, 2)

    def restore(self) -> list[str]:
        # Nothing in it need be undone: it is thrown away.
        if self._agent is not None:
            self._agent.kill()
            self._agent = None
        if self._started is not None:
            self._started.machine.kill()
            self._started = None
        return super().restore()
