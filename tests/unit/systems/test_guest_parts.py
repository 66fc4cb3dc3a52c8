"""What a guest is put together from: first file system, QEMU's command, machine protocol, accelerator."""

import dataclasses
import json
import lzma
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.systems.guest import GuestSettings, accelerator, boot, files, image, initrd, snapshot
from satline.systems.guest.qmp import Qmp


def module(path: Path, depends: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0")


def test_modules_come_after_what_they_need(tmp_path: Path) -> None:
    module(tmp_path / "net/virtio_net.ko", "virtio,net_failover")
    module(tmp_path / "net/net_failover.ko", "failover")
    module(tmp_path / "core/failover.ko", "")
    module(tmp_path / "virtio.ko", "")
    names = [path.stem for path in initrd.in_order(tmp_path, ["virtio_net", "builtin", "virtio"])]
    assert names == ["virtio", "failover", "net_failover", "virtio_net"]


def test_compressed_modules_are_unpacked_or_refused(tmp_path: Path) -> None:
    module(tmp_path / "virtio.ko", "")
    module(tmp_path / "m/virtio_blk.ko", "virtio")
    for path in (tmp_path / "virtio.ko", tmp_path / "m/virtio_blk.ko"):
        data = lzma.compress(path.read_bytes())
        path.unlink()
        (tmp_path / "m" / f"{path.name}.xz").write_bytes(data)
    (tmp_path / "busybox").write_bytes(b"busybox")
    initrd.make_initrd(tmp_path / "m", tmp_path / "busybox", tmp_path / "initrd")
    found = {name: content for name, _, content, _ in entries((tmp_path / "initrd").read_bytes())}
    assert b"for module in virtio.ko virtio_blk.ko;" in found["init"]
    assert b"depends=virtio\0" in found["virtio_blk.ko"]
    module(tmp_path / "other/virtio.ko.zst", "")
    with pytest.raises(SatlineError, match="otherwise than by xz"):
        initrd.in_order(tmp_path / "other", ["virtio"])


def entries(data: bytes) -> list[tuple[str, int, bytes, tuple[int, int]]]:
    """Name, mode, content and device of a cpio archive's entries, by the format's description."""
    found, at = [], 0
    while True:
        assert at % 4 == 0
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name = data[at + 110 : at + 110 + fields[11]]
        assert name.endswith(b"\0")
        begin = (at + 110 + fields[11] + 3) // 4 * 4
        if name == b"TRAILER!!!\0":
            return found
        content = data[begin : begin + fields[6]]
        found.append((name[:-1].decode(), fields[1], content, (fields[9], fields[10])))
        at = (begin + fields[6] + 3) // 4 * 4


def test_the_archive_holds_what_went_in() -> None:
    files = [
        ("bin", stat.S_IFDIR | 0o755, b""),
        ("bin/a", stat.S_IFREG | 0o750, b"hello"),
        ("b", 0o100644, b""),
    ]
    data = initrd.archive(files, {"dev/console": (5, 1)})
    expected = [(*entry, (0, 0)) for entry in files]
    assert entries(data) == [*expected, ("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))]


def test_the_first_file_system_loads_its_modules_in_order(tmp_path: Path) -> None:
    module(tmp_path / "m/virtio_blk.ko", "virtio")
    module(tmp_path / "m/virtio.ko", "")
    (tmp_path / "busybox").write_bytes(b"busybox")
    initrd.make_initrd(tmp_path / "m", tmp_path / "busybox", tmp_path / "initrd")
    found = {name: (mode, content) for name, mode, content, _ in entries((tmp_path / "initrd").read_bytes())}
    assert found["bin/busybox"] == (stat.S_IFREG | 0o755, b"busybox")
    assert b"for module in virtio.ko virtio_blk.ko;" in found["init"][1]
    assert {"virtio.ko", "virtio_blk.ko", "dev/console"} <= set(found)


@pytest.fixture
def made(tmp_path: Path) -> image.Image:
    directory = image.image_directory(tmp_path)
    directory.mkdir()
    for name in ("disk.raw", "vmlinuz", "initrd", "key", "known_hosts"):
        (directory / name).write_text(name)
    return image.find_image(tmp_path)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with false programs, the only ones on the PATH beside the system's."""
    directory = tmp_path / "programs"
    directory.mkdir()
    for name in ("qemu-system-x86_64", "qemu-img"):
        (directory / name).write_text("#!/bin/sh\necho 'QEMU version 1'\n")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


def words(made: image.Image, directory: Path, **settings: object) -> list[str]:
    disks = boot.Disks(directory / "root", (directory / "a,b", directory / "swap1"))
    chosen = GuestSettings(**settings)  # type: ignore[arg-type]
    return boot.command_line(made, chosen, "emulation", directory, directory / "qmp", disks, 4444)


@pytest.mark.usefixtures("programs")
def test_the_guest_is_reached_from_this_host_alone_and_reaches_nothing(
    made: image.Image, tmp_path: Path
) -> None:
    command = words(made, tmp_path)
    assert "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:4444-10.0.2.15:22" in command
    assert command[command.index("-display") + 1] == "none"
    assert "-nodefaults" in command


@pytest.mark.usefixtures("programs")
def test_caps_are_on_each_paging_device_and_on_no_other(made: image.Image, tmp_path: Path) -> None:
    command = words(made, tmp_path, swap_iops=50, swap_bytes_per_second=4096)
    drives = [word for word in command if word.startswith("file=")]
    capped = ["throttling.iops-total=50,throttling.bps-total=4096" in drive for drive in drives]
    assert capped == [False, True, True]
    assert drives[1].startswith(f"file={tmp_path}/a,,b,")
    assert not any("throttling" in word for word in words(made, tmp_path))


def test_memory_is_never_less_than_asked_for() -> None:
    assert GuestSettings(memory_bytes=256_000_000).memory_mib() == 245
    assert GuestSettings(memory_bytes=256 << 20).memory_mib() == 256


@pytest.mark.usefixtures("programs")
def test_a_snapshot_is_of_the_hardware_not_of_the_caps(made: image.Image) -> None:
    def name(**changes: object) -> str:
        settings = dataclasses.replace(GuestSettings(), **changes)  # type: ignore[arg-type]
        return snapshot.snapshot_name(made, settings, "emulation", "parts")

    same = name()
    assert name(swap_iops=50, page_cluster=0, mglru=7) == same
    others = {
        name(memory_bytes=128_000_000),
        name(processors=2),
        name(swap_disks=2),
        name(swap_disk_bytes=1 << 20),
    }
    assert len(others | {same}) == 5
    assert snapshot.snapshot_name(made, GuestSettings(), "kvm", "parts") != same
    assert snapshot.snapshot_name(made, GuestSettings(), "emulation", "newer parts") != same
    (made.kernel).write_text("another kernel")
    assert name() != same


def test_settings_that_are_not_stated_are_left_alone() -> None:
    assert GuestSettings().knobs() == {}
    knobs = GuestSettings(page_cluster=0, swappiness=1, mglru=0).knobs()
    assert knobs == {
        "proc/sys/vm/page-cluster": "0",
        "proc/sys/vm/swappiness": "1",
        "sys/kernel/mm/lru_gen/enabled": "0",
    }


def test_what_was_not_built_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no guest to start") as caught:
        image.find_image(tmp_path)
    assert "`satline guest build`" in caught.value.hint
    with pytest.raises(InputError) as caught:
        image.find_image(tmp_path, release="trixie")
    assert "`satline guest build --release trixie`" in caught.value.hint
    with pytest.raises(InputError, match="no release"):
        image.find_image(tmp_path, release="../other")


def test_images_of_several_releases_are_kept_beside_each_other(tmp_path: Path) -> None:
    directories = [image.image_directory(tmp_path, release) for release in ("bookworm", "trixie")]
    for directory in directories:
        directory.mkdir()
    assert image.image_directories(tmp_path) == directories
    assert image.image_directory(tmp_path) == image.image_directory(tmp_path, image.host_release())


def test_a_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="qemu-img") as caught:
        files.find_program("qemu-img")
    assert "qemu-utils" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "sources.list",
            "# deb http://no/debian x\ndeb [a=b] https://a.b/debian/ bookworm main\n",
            "https://a.b/debian",
        ),
        ("sources.list.d/x.sources", "Types: deb\nURIs: http://c/debian\nSuites: x\n", "http://c/debian"),
        ("sources.list.d/x.list", "deb https://other/repository x main\n", image.MIRROR),
    ],
)
def test_the_hosts_archive_is_used(tmp_path: Path, name: str, text: str, found: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert image.host_mirror(tmp_path) == found


def test_the_hosts_release_is_used_where_it_is_a_debian(tmp_path: Path) -> None:
    (tmp_path / "os").write_text('ID=debian\nVERSION_CODENAME=trixie\nNAME="x=y"\n')
    assert image.host_release(tmp_path / "os") == "trixie"
    (tmp_path / "os").write_text("ID=fedora\nVERSION_CODENAME=forty\n")
    assert image.host_release(tmp_path / "os") == "bookworm"
    assert image.host_release(tmp_path / "none") == "bookworm"


def answers(path: Path, lines: list[object]) -> threading.Thread:
    """A false QEMU: greets, then gives one answer to each command."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as commands:
            connection.sendall(b'{"QMP": {}}\n')
            for line in [{"return": {}}, *lines]:
                commands.readline()
                connection.sendall(b'{"event": "RESUME"}\n' + json.dumps(line).encode() + b"\n")
        server.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("q") / "s"
    if len(str(path)) > 100:
        pytest.skip("the directory's name is too long for a socket")
    return path


def test_events_are_not_answers(short: Path) -> None:
    serving = answers(short, [{"return": {"status": "inmigrate"}}, {"return": {"status": "running"}}])
    qmp = Qmp(short, lambda: True)
    assert qmp.wait_until("query-status", lambda a: a["status"] != "inmigrate", 120) == {"status": "running"}
    qmp.close()
    serving.join()


def test_what_qemu_refuses_is_told(short: Path) -> None:
    answers(short, [{"error": {"class": "GenericError", "desc": "no such thing"}}])
    qmp = Qmp(short, lambda: True)
    with pytest.raises(SatlineError, match="QEMU does not cont: no such thing"):
        qmp.do("cont")
    with pytest.raises(SatlineError, match="QEMU has gone"):
        qmp.do("cont")
    qmp.close()


def test_a_qemu_that_ended_is_told(short: Path) -> None:
    with pytest.raises(SatlineError, match="does not answer"):
        Qmp(short, lambda: False)


PROBED = f"""#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -serial) console=${{2#file:}};; esac; shift; done
echo "{initrd.PROBED}" > "$console"; sleep 60
"""


def test_kvm_is_taken_where_a_kernel_starts_under_it(
    programs: Path, made: image.Image, tmp_path: Path
) -> None:
    device = tmp_path / "kvm"
    device.touch()
    (programs / "qemu-system-x86_64").write_text(PROBED)
    assert accelerator.choose("auto", made, tmp_path, {}, device) == accelerator.Accelerator("kvm", "")
    # The answer is kept: nothing is started again.
    (programs / "qemu-system-x86_64").write_text("#!/bin/sh\nexit 1\n")
    assert accelerator.choose("kvm", made, tmp_path, {}, device).name == "kvm"
    made.kernel.write_text("another kernel")
    assert accelerator.choose("auto", made, tmp_path, {}, device).name == "emulation"


@pytest.mark.usefixtures("programs")
def test_emulation_is_taken_and_told_where_it_is_not(made: image.Image, tmp_path: Path) -> None:
    without = accelerator.choose("auto", made, tmp_path, {}, tmp_path / "kvm")
    assert (without.name, without.why) == ("emulation", f"there is no {tmp_path}/kvm")
    with pytest.raises(InputError, match="cannot have KVM"):
        accelerator.choose("kvm", made, tmp_path, {}, tmp_path / "kvm")
    assert accelerator.choose("emulation", made, tmp_path, {}).why == "the study asks for it"


def test_a_kernel_that_hangs_is_given_up(programs: Path, made: image.Image) -> None:
    (programs / "qemu-system-x86_64").write_text("#!/bin/sh\nexec sleep 60\n")
    assert "does not start under it within" in accelerator.probe(made, "kvm", {}, 0.2)


def test_a_guest_that_ends_while_it_boots_is_told_with_its_console(tmp_path: Path, short: Path) -> None:
    (tmp_path / "console.log").write_text("Kernel panic - not syncing\n")
    script = f"echo 'qemu: no such disk' >&2; exit 1 # {short}"
    with pytest.raises(SatlineError, match=r"(?s)does not answer.*no such disk.*Kernel panic"):
        boot.Machine(["sh", "-c", script], tmp_path, short, {})


def test_a_step_that_fails_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    tree = tmp_path / "tree"

    def fail() -> None:
        with image._whole(tree) as part:
            part.mkdir()
            (part / "half").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not tree.exists()
    with image._whole(tree) as part:
        part.mkdir()
    assert list(tree.iterdir()) == []


def test_the_disk_has_the_modules_of_paging_devices_and_of_those_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules, tree = tmp_path / "6.1-x", tmp_path / "tree"
    module(modules / "kernel/zram.ko", "zsmalloc")
    module(modules / "kernel/mm/zsmalloc.ko", "")
    module(modules / "kernel/net/other.ko", "")
    (modules / "modules.order").touch()
    ran: list[list[str]] = []
    monkeypatch.setattr(image._Build, "_run", lambda _, command: ran.append(command))
    monkeypatch.setattr(image, "find_program", lambda name: name)
    image._Build(tmp_path, "x", "http://y/debian", print)._put_modules(modules, tree)
    put = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    names = ("kernel/zram.ko", "kernel/mm/zsmalloc.ko", "modules.order")
    assert put == {f"lib/modules/6.1-x/{name}" for name in names}
    assert ran == [["chroot", str(tree), "depmod", "6.1-x"]]


def test_only_root_can_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "find_program", lambda name: name)
    monkeypatch.setattr(image.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(image.os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match="only root") as caught:
        image.build(print, cache=tmp_path)
    assert "sudo" in caught.value.hint


def test_a_build_goes_on_where_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fails = {"kernel"}

    class Steps(image._Build):
        def _make_tree(self, part: Path) -> None:
            done.append("tree")
            part.mkdir()

        def _make_kernel(self, part: Path) -> None:
            done.append("kernel")
            part.mkdir()
            if fails:
                raise SatlineError("the mirror has gone")

        def _make_image(self, part: Path) -> None:
            done.append("image")
            part.mkdir()
            for name in ("disk.raw", "vmlinuz", "initrd", "key", "known_hosts"):
                (part / name).touch()

    monkeypatch.setattr(image, "_Build", Steps)
    monkeypatch.setattr(image, "find_program", lambda name: name)
    monkeypatch.setattr(image.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(image.os, "geteuid", lambda: 0)
    with pytest.raises(SatlineError, match="the mirror has gone"):
        image.build(print, cache=tmp_path, release="x", mirror="http://y/debian")
    fails.clear()
    assert image.build(print, cache=tmp_path, release="x", mirror="http://y/debian").disk.exists()
    assert done == ["tree", "kernel", "kernel", "image"]
    assert not any((tmp_path / "build").iterdir())
    # Built is built.
    image.build(print, cache=tmp_path, release="x")
    assert len(done) == 4
