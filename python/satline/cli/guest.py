"""`satline guest build|list|remove|shell`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import command, option
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.systems.guest.snapshot import Snapshot


@command("""\b
Examples:
  sudo satline guest build
  sudo satline guest build --release trixie     another kernel, in addition
""")
def build(
    release: str | None = option("Debian release, such as bookworm; default: the host's."),
    mirror: str | None = option("Debian mirror; default: the one that the host's apt uses."),
    again: bool = option("Make it anew."),
) -> None:
    """Build the guests' disk image, kernel and key from Debian packages.

    This needs root, debootstrap and a mirror. Downloads are kept until the build is complete: an interrupted
    build continues where it stopped.
    """
    from satline.present import visible
    from satline.systems.guest.files import used_bytes
    from satline.systems.guest.image import build as make
    from satline.systems.guest.image import image_directory

    image = make(
        lambda text: click.echo(visible(text), err=True), release=release, mirror=mirror, again=again
    )
    size = _size(used_bytes(image_directory(release=release)))
    click.echo(f"guests start from {visible(image.disk.parent)} ({size})")
    click.echo("try `satline study guest-paging`")


@command("""\b
Example:
  satline guest list
""")
def list_command(as_json: bool = JSON) -> None:
    """List what is stored for guests: the disk images and kernels, and a snapshot of each kind of guest that
    was started.
    """
    from satline.present import visible
    from satline.systems.guest.files import cache_directory, used_bytes
    from satline.systems.guest.image import image_directories
    from satline.systems.guest.snapshot import snapshots

    cache = cache_directory()
    found = snapshots(cache)
    images = image_directories(cache)
    if as_json:
        rows = [{**one.about(), "path": one.directory, "bytes": used_bytes(one.directory)} for one in found]
        built = [{"path": image, "bytes": used_bytes(image)} for image in images]
        print_json("guest-list", images=built, snapshots=rows)
        return
    if not images:
        click.echo("nothing was built; `sudo satline guest build`")
    for image in images:
        click.echo(f"{visible(image)}: {_size(used_bytes(image))}")
    for one in found:
        click.echo(f"snapshot {visible(one.directory.name)}: {visible(_kind(one))}")


def _kind(one: Snapshot) -> str:
    from satline.systems.guest.files import used_bytes

    about: dict[str, Any] = one.about()
    disks = about.get("swap_disks")
    size = _size(used_bytes(one.directory))
    return (
        f"{about.get('memory_mib')} MiB, {about.get('processors')} processor(s), {disks} paging device(s), "
        f"{about.get('accelerator')}, booted in {about.get('boot_seconds')} s, {size}"
    )


@command("""\b
Example:
  satline guest remove --snapshots
""")
def remove(snapshots: bool = option("The snapshots only; the next run of each kind boots again.")) -> None:
    """Delete what is stored for guests: the snapshots, disk images and kernels.

    No run may be in progress.
    """
    from satline.systems.guest.files import cache_directory, one_at_a_time, used_bytes
    from satline.systems.guest.image import image_directories

    cache = cache_directory()
    if not cache.exists():
        click.echo("nothing is kept")
        return
    with one_at_a_time(cache):
        parts = [cache / "snapshots", *([] if snapshots else [*image_directories(cache), cache / "build"])]
        freed = sum(used_bytes(part) for part in parts)
        for part in parts:
            shutil.rmtree(part, ignore_errors=True)
    click.echo(f"deleted {_size(freed)}")


@command("""\b
Examples:
  satline guest shell --memory '256 MB'
  satline guest shell --processors 2 --command 'uname -a'
""")
def shell(
    memory: str = option("Memory of the guest.", default="256 MB"),
    processors: int = option(type=click.IntRange(1, 64), default=1),
    swap_disks: int = option(type=click.IntRange(0, 16), default=1),
    release: str | None = option("Debian release, one of those built; default: the host's."),
    command: str | None = option("Run this in the guest instead of a shell.", "--command", "-c"),
    scratch: Path = option("Directory for its disks.", default=Path("/var/tmp"), show_default=False),
) -> int:
    """Start a guest as a study would, and log on to it as root; it is deleted when the session ends."""
    import secrets
    import subprocess

    from satline.errors import InputError
    from satline.experiment.sizes import parse_size
    from satline.interruption import signals_held, signals_interrupt
    from satline.systems import Configuration, Limits
    from satline.systems.guest import GuestSettings
    from satline.systems.guest.guest import Guest

    try:
        size = parse_size(memory)
    except ValueError as error:
        raise InputError(f"--memory: {error}", hint="such as '256 MB'") from None
    system = Guest()
    with signals_interrupt():
        try:
            system.prepare(
                Configuration(
                    run_id=secrets.token_hex(16),
                    limits=Limits(),
                    scratch=scratch.absolute(),
                    target=GuestSettings(
                        memory_bytes=size, processors=processors, swap_disks=swap_disks, release=release
                    ),
                    say=lambda text: click.echo(text, err=True),
                )
            )
            return subprocess.run([*system.client(), *([command] if command else [])], check=False).returncode
        finally:
            with signals_held():
                for problem in system.restore():
                    click.echo(f"left behind: {problem}", err=True)


def _size(count: int) -> str:
    from satline.experiment.sizes import format_size

    return format_size(count)
