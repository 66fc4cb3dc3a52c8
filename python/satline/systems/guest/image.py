"""The guest's disk, kernel and key: made once from the distribution's own packages, and kept.

No boot loader, no loop device, no password: the file system is made from a directory (mke2fs -d), QEMU starts
the kernel itself, and only the key that is made here opens the guest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from satline.errors import InputError, SatlineError
from satline.systems.guest.files import cache_directory, find_program, one_at_a_time
from satline.systems.guest.initrd import in_order, make_initrd

VERSION = 5
PACKAGES = (
    *("openssh-server", "iproute2", "tini", "busybox-static", "kmod", "util-linux", "dmsetup"),
    *("python3", "procps", "gawk", "findutils", "bzip2"),  # what workloads ask for
    # Started where it is asked for (SYSTEMD): units are tried there, and users who log on.
    *("systemd", "dbus", "libpam-systemd", "sudo"),
)
KERNEL = "linux-image-cloud-amd64"
# Paging devices beside disks: compressed storage, and devices that can be made to hang or to fail.
PAGING_MODULES = ("lzo-rle", "zram", "dm-mod", "loop")
MIRROR = "http://deb.debian.org/debian"
SPARE_BYTES = 1 << 30
RESERVED_BYTES = 40_000_000
ALIAS = "satline-guest"
IMAGE = "image-"
READY = "satline: ready"
# On the kernel's command line: systemd is process 1, not the script below.
SYSTEMD = "satline.init=systemd"
_UNWANTED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "var/cache/apt")

_SSHD = """Port 22
HostKey /etc/ssh/satline_host_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxSessions 10000
MaxStartups 1000
LoginGraceTime 0
"""
_INIT = f"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
hostname {ALIAS}
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
# It mounts the rest itself, and says that it is ready by its unit.
grep -qw {SYSTEMD} /proc/cmdline && exec /lib/systemd/systemd --unit=satline.target
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# Storage for what measures: the users' paging must not take the monitor's and the terminals' pages.
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/system
echo {RESERVED_BYTES} > /sys/fs/cgroup/system/memory.min
echo $$ > /sys/fs/cgroup/system/cgroup.procs
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /run/sshd
echo 1 > /proc/sys/kernel/task_delayacct
echo '{READY}' > /dev/console
exec tini -- /usr/sbin/sshd -D -e -f /etc/ssh/satline_config
"""
# No login, no timers (apt's would run at once), no network of its own: what units need, and the way in.
_TARGET = """[Unit]
Description=Satline: units are tried here
Requires=basic.target satline-ssh.service
After=basic.target
AllowIsolate=yes
"""
_SSH_UNIT = f"""[Unit]
Description=Satline: the way into the guest

[Service]
RuntimeDirectory=sshd
ExecStartPre=/bin/sh -c "echo '{READY}' > /dev/console"
ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/satline_config
"""


@dataclass(frozen=True)
class Image:
    """What a guest starts from.

    identity, known_hosts
        Private key that opens it; file with its host key under the name `ALIAS`.
    """

    disk: Path
    kernel: Path
    initrd: Path
    identity: Path
    known_hosts: Path

    def name(self) -> str:
        """A name that changes with any of its parts."""
        parts = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in self.parts()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def parts(self) -> tuple[Path, ...]:
        """All its files."""
        return (self.disk, self.kernel, self.initrd, self.identity, self.known_hosts)


def image_directory(cache: Path | None = None, release: str | None = None) -> Path:
    """Where the image of a release, or of the host's, is kept.

    Raises
    ------
    InputError
        That is no release's name.
    """
    release = release or host_release()
    if not re.fullmatch("[a-z][a-z0-9-]*", release):
        raise InputError(f"no release of Debian's: {release!r}", hint="such as bookworm or trixie")
    return (cache or cache_directory()) / f"{IMAGE}{release}"


def image_directories(cache: Path) -> list[Path]:
    """Where images are kept, of all releases that were built."""
    return sorted(cache.glob(f"{IMAGE}*"))


def find_image(
    cache: Path | None = None,
    disk: str | None = None,
    kernel: str | None = None,
    release: str | None = None,
) -> Image:
    """The image that was built, or one with the disk and the kernel that the user names.

    Parameters
    ----------
    release
        Debian's; ``None``: the host's.

    Raises
    ------
    InputError
        There is none.
    """
    directory = image_directory(cache, release)
    image = Image(
        Path(disk) if disk else directory / "disk.raw",
        Path(kernel) if kernel else directory / "vmlinuz",
        directory / "initrd",
        directory / "key",
        directory / "known_hosts",
    )
    for path in image.parts():
        if not path.is_file():
            raise InputError(
                f"there is no guest to start: {path} is not there",
                hint=f"`satline guest build{f' --release {release}' if release else ''}` "
                "makes one (some minutes, once)",
            )
    return image


def host_release(os_release: Path = Path("/etc/os-release")) -> str:
    """The host's release where it is a Debian, else the newest that this was tried with."""
    values = (
        dict(line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
        if os_release.exists()
        else {}
    )
    known = values.get("ID") == "debian" and values.get("VERSION_CODENAME")
    return values["VERSION_CODENAME"].strip('"') if known else "bookworm"


def host_mirror(apt: Path = Path("/etc/apt")) -> str:
    """The first Debian archive that the host's apt is set to, else Debian's own."""
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    files += sorted((apt / "sources.list.d").glob("*.sources"))
    for file in files:
        with contextlib.suppress(OSError):
            for line in file.read_text(errors="replace").splitlines():
                words = line.split("#")[0].split()
                if words[:1] and words[0] in ("deb", "URIs:", "Uris:"):
                    for word in words[1:]:
                        if word.startswith(("http://", "https://")) and word.rstrip("/").endswith("/debian"):
                            return word.rstrip("/")
    return MIRROR


def build(
    say: Callable[[str], None],
    *,
    cache: Path | None = None,
    release: str | None = None,
    mirror: str | None = None,
    again: bool = False,
) -> Image:
    """Make the image, or go on where an earlier try ended.

    Parameters
    ----------
    say
        Called with each step as it begins.
    again
        Make it anew though there is one.

    Raises
    ------
    InputError
        A program or a permission is missing.
    SatlineError
        A step failed; says which, and the end of what its program said.
    """
    if platform.machine() != "x86_64":
        raise InputError(
            f"guests are x86_64 machines, this host is {platform.machine()}", hint="use a remote host"
        )
    for name in ("debootstrap", "mke2fs", "ssh-keygen", "unshare", "chroot"):
        find_program(name)
    cache = cache or cache_directory()
    with one_at_a_time(cache):
        directory = image_directory(cache, release)
        if again:
            shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(InputError):
            return find_image(cache, release=release)
        if os.geteuid() != 0:
            raise InputError(
                "only root can make the guest's file system",
                hint="`sudo -E satline guest build`; or name a disk and a kernel: [guest] image, kernel",
            )
        _Build(cache / "build", release or host_release(), mirror or host_mirror(), say).run(directory)
    return find_image(cache, release=release)


class _Build:
    """The steps; each leaves its result under a name that it has only when it is whole."""

    def __init__(self, work: Path, release: str, mirror: str, say: Callable[[str], None]) -> None:
        self._work = work / f"{release}-{VERSION}"
        self._release = release
        self._mirror = mirror
        self._say = say
        self._log = self._work / "build.log"

    def run(self, directory: Path) -> None:
        (self._work / "packages").mkdir(parents=True, exist_ok=True, mode=0o700)
        tree = self._work / "tree"
        for path, say, make in (
            (tree, f"packages of {self._release} from {self._mirror}", self._make_tree),
            (self._work / "kernel", "the kernel", self._make_kernel),
            (self._work / "image", "the disk", self._make_image),
        ):
            if not path.exists():
                self._say(f"{say} …")
                with _whole(path) as part:
                    make(part)
        (self._work / "image").rename(directory)
        shutil.rmtree(self._work)

    def _make_tree(self, part: Path) -> None:
        # In a mount namespace of its own: what debootstrap mounts is gone with it, whatever happens.
        command = [find_program("unshare"), "--mount", find_program("debootstrap"), "--variant=minbase"]
        command += [f"--cache-dir={self._work / 'packages'}", f"--include={','.join(PACKAGES)}"]
        self._run([*command, self._release, str(part), self._mirror])

    def _make_kernel(self, part: Path) -> None:
        # Fetched by the tree's own apt, so that any host will do.
        tree = self._work / "tree"
        fetch = (
            "cd /var/tmp && rm -f linux-image-*.deb && apt-get -qq update && "
            f"name=$(apt-cache depends {KERNEL} | sed -n '/linux-image-/s/^ *Depends: //p' | head -n 1) && "
            'apt-get -qq -o APT::Sandbox::User=root download "$name"'
        )
        self._run([find_program("chroot"), str(tree), "sh", "-c", fetch])
        packages = sorted((tree / "var/tmp").glob("linux-image-*.deb"))
        if not packages:
            raise SatlineError(f"the mirror {self._mirror} has no {KERNEL}", hint="name another mirror")
        part.mkdir()
        self._run(
            [
                find_program("chroot"),
                str(tree),
                "dpkg-deb",
                "-x",
                f"/var/tmp/{packages[-1].name}",
                "/var/tmp/kernel",
            ]
        )
        shutil.move(tree / "var/tmp/kernel", part / "files")
        packages[-1].unlink()

    def _make_image(self, part: Path) -> None:
        tree, kernel = self._work / "tree", self._work / "kernel/files"
        part.mkdir(mode=0o700)
        for name in _UNWANTED:
            shutil.rmtree(tree / name, ignore_errors=True)
        for name in ("archives/partial", ""):
            (tree / "var/cache/apt" / name).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(tree / "var/lib/apt/lists", ignore_errors=True)
        shutil.copy(next((kernel / "boot").glob("vmlinuz-*")), part / "vmlinuz")
        modules = next(path for top in ("usr/lib", "lib") for path in (kernel / top).glob("modules/*"))
        make_initrd(modules, tree / "bin/busybox", part / "initrd")
        self._put_modules(modules, tree)
        for name in ("key", "host_key"):
            self._run(
                [
                    find_program("ssh-keygen"),
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-C",
                    ALIAS,
                    "-f",
                    str(part / name),
                ]
            )
        _write(tree / "etc/ssh/satline_host_key", (part / "host_key").read_text(), 0o600)
        (tree / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
        _write(tree / "root/.ssh/authorized_keys", (part / "key.pub").read_text(), 0o600)
        _write(tree / "etc/ssh/satline_config", _SSHD, 0o644)
        _write(tree / "sbin/satline-init", _INIT, 0o755)
        _write(tree / "etc/systemd/system/satline.target", _TARGET, 0o644)
        _write(tree / "etc/systemd/system/satline-ssh.service", _SSH_UNIT, 0o644)
        (tree / "etc/systemd/system/timers.target").symlink_to("/dev/null")
        kind, key, *_ = (part / "host_key.pub").read_text().split()
        _write(part / "known_hosts", f"{ALIAS} {kind} {key}\n", 0o600)
        for name in ("host_key", "host_key.pub"):
            (part / name).unlink()
        size = sum(path.lstat().st_size + 4096 for path in tree.rglob("*") if not path.is_symlink())
        disk = part / "disk.raw"
        disk.touch(mode=0o600)
        with disk.open("r+b") as file:
            file.truncate((size * 5 // 4 + SPARE_BYTES) >> 20 << 20)
        self._run([find_program("mke2fs"), "-q", "-t", "ext4", "-d", str(tree), "-L", "satline", str(disk)])

    def _put_modules(self, modules: Path, tree: Path) -> None:
        wanted = [
            *in_order(modules, PAGING_MODULES),
            *modules.glob("modules.builtin*"),
            modules / "modules.order",
        ]
        for path in wanted:
            target = tree / "lib/modules" / modules.name / path.relative_to(modules)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        self._run([find_program("chroot"), str(tree), "depmod", modules.name])

    def _run(self, command: list[str]) -> None:
        with self._log.open("ab") as log:
            start = log.tell()
            environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
            environment["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, check=False
            ).returncode
        if status != 0:
            said = self._log.read_bytes()[start:].decode(errors="replace").strip().splitlines()[-6:]
            raise SatlineError(
                f"{Path(command[0]).name} ended with exit code {status}"
                + "".join(f"\n  {line}" for line in said),
                hint=f"the whole of it is in {self._log}; `satline guest build` goes on where it ended",
            )


def _write(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    path.chmod(mode)


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A place to make `path` in, which gets its name when the block ends well."""
    part = path.with_name(f"{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    yield part
    part.rename(path)
