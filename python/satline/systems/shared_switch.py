"""A setting of the kernel that several runs want on at once: the last that ends puts it back.

A directory below /run says who wants it (``NAME.holder``, with the process by whose life it is held) and what
the setting was before the first (``before``). Who was killed counts no more. The directory goes with the last
holder, and with a boot, as the setting does.

Standard library only: the janitor imports this.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from satline.outside import parse_json
from satline.systems.ledger import boot_id, start_ticks

LOCK_TIMEOUT_S = 10.0
ON = "1"


@dataclass(frozen=True)
class SharedSwitch:
    """A setting and its register.

    setting
        The file of the kernel that is 0 or 1.
    register
        The directory that says who wants it on.
    """

    setting: Path
    register: Path

    def hold(self, name: str, pid: int | None = None) -> None:
        """Switch it on for `name`, until `release`, or until process `pid` is no more; a holder without one
        holds until it lets go, or the host is booted.

        Nothing is registered where it is on, and nobody of these has switched it on.

        Raises
        ------
        OSError
            It cannot be switched on, or the register cannot be written.
        """
        with self._locked():
            self._forget_the_dead()
            before = self._noted()
            if before is None:
                before = self.setting.read_text().strip()
                if before != "0":
                    self._remove_if_unused()
                    return
                _write(self.register / "before", {"value": before, "boot_id": boot_id()})
            ticks = None if pid is None else start_ticks(pid)
            _write(self._holder(name), {"pid": pid, "start_ticks": ticks, "boot_id": boot_id()})
            try:
                if self.setting.read_text().strip() != ON:
                    self.setting.write_text(ON)
            except OSError:
                self._leave(name)
                raise

    def release(self, name: str) -> None:
        """`name` needs it no more; it is put back when no living holder is left. As often as wanted."""
        if not self.register.is_dir():
            return
        with self._locked():
            self._leave(name)

    def holders(self) -> list[str]:
        """Who holds it, and lives."""
        return [path.stem for path in sorted(self.register.glob("*.holder")) if _lives(_read(path))]

    def _leave(self, name: str) -> None:
        self._holder(name).unlink(missing_ok=True)
        self._forget_the_dead()
        before = self._noted()
        if before is not None and not self.holders():
            if self.setting.exists() and self.setting.read_text().strip() != before:
                self.setting.write_text(before)
            (self.register / "before").unlink()
        self._remove_if_unused()

    def _holder(self, name: str) -> Path:
        return self.register / f"{name}.holder"

    def _noted(self) -> str | None:
        """What the setting was before the first holder; ``None``: nobody has switched it on."""
        noted = _read(self.register / "before")
        if noted.get("boot_id") != boot_id() or noted.get("value") not in ("0", ON):
            return None
        return str(noted["value"])

    def _forget_the_dead(self) -> None:
        for path in self.register.iterdir():
            # What is begun and not ended is of somebody who was killed in it: the lock is ours.
            if path.suffix == ".new" or (path.suffix == ".holder" and not _lives(_read(path))):
                path.unlink(missing_ok=True)

    def _remove_if_unused(self) -> None:
        """The register goes when nobody is in it; its lock last, for others wait at it."""
        if any(path.name != "lock" for path in self.register.iterdir()):
            return
        (self.register / "lock").unlink(missing_ok=True)
        try:
            self.register.rmdir()
        except OSError:  # another has come meanwhile
            return

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The register, which is made if it is not there, for oneself.

        Raises
        ------
        OSError
            It cannot be made, or another process does not let go of it.
        """
        descriptor = self._lock()
        try:
            yield
        finally:
            os.close(descriptor)

    def _lock(self) -> int:
        """A descriptor that holds the lock until it is closed."""
        end = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            self.register.mkdir(parents=True, exist_ok=True, mode=0o755)
            try:
                descriptor = os.open(self.register / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:  # the last holder has just removed it
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A lock that has been removed meanwhile keeps nobody out.
                if _is(descriptor, self.register / "lock"):
                    return descriptor
            except BlockingIOError:
                if time.monotonic() > end:
                    os.close(descriptor)
                    message = f"another process has held it for {LOCK_TIMEOUT_S:.0f} s"
                    raise TimeoutError(errno.EBUSY, message, str(self.register / "lock")) from None
                time.sleep(0.02)
            os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), found)


def _lives(holder: dict[str, object]) -> bool:
    if holder.get("boot_id") != boot_id():
        return False
    pid = holder.get("pid")
    return pid is None or (isinstance(pid, int) and start_ticks(pid) == holder.get("start_ticks") is not None)


def _write(path: Path, content: dict[str, object]) -> None:
    """In one step: whoever is killed in it leaves no half of it."""
    begun = path.with_name(f"{path.name}.new")
    begun.write_text(json.dumps(content) + "\n", encoding="utf-8")
    begun.rename(path)


def _read(path: Path) -> dict[str, object]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
