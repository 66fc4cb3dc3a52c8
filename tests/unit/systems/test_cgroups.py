"""Control groups: version 2 against a tree of files, version 1 against a tree, and the kernel."""

import os
import secrets
from pathlib import Path

import pytest

from satline.systems.cgroups import GroupV1, GroupV2, UnsettableError, format_processors, plan_group

REAL = Path("/sys/fs/cgroup")


def test_processors_are_written_as_ranges() -> None:
    assert format_processors([1]) == "1"
    assert format_processors([3, 0, 1, 2, 7, 6, 9]) == "0-3,6-7,9"
    assert format_processors([]) == ""


def tree_v2(
    root: Path, controllers: str = "cpuset cpu io memory pids", handed_down: str = "memory pids"
) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text(controllers + "\n")
    (root / "cgroup.subtree_control").write_text(handed_down + "\n")
    (root / "cgroup.procs").write_text("")
    return root


def proc_of(tmp_path: Path, line: str) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(line + "\n")
    return tmp_path / "proc"


def test_v2_borrows_what_the_parent_does_not_hand_down(tmp_path: Path) -> None:
    root = tree_v2(tmp_path / "cgroup")
    group = plan_group("satline-x", root, proc_of(tmp_path, "0::/user.slice"))
    assert isinstance(group, GroupV2)
    assert group.path == "/satline-x"
    assert group.directories == [root / "satline-x"]
    assert group.borrowed == (root / "cgroup.subtree_control", ["cpu", "cpuset", "io"])
    group.make()
    assert (root / "satline-x").is_dir()
    assert (
        (root / "cgroup.subtree_control").read_text().startswith("+io")
    )  # the kernel adds, a file takes the last
    assert group.procs_files() == [root / "satline-x/cgroup.procs"]


def test_v2_writes_the_limits_in_the_kernels_words(tmp_path: Path) -> None:
    root = tree_v2(tmp_path / "cgroup", handed_down="cpuset cpu io memory")
    group = plan_group("satline-x", root, proc_of(tmp_path, "0::/"))
    assert group.borrowed is None
    group.make()
    directory = root / "satline-x"
    for name in ("cpuset.cpus", "cpu.max", "memory.max", "memory.swap.max", "io.max"):
        (directory / name).touch()
    group.set_processors([1, 2])
    group.set_cpu_quota(0.5)
    group.set_memory(256_000_000, 1_000_000)
    assert (directory / "cpuset.cpus").read_text() == "1-2"
    assert (directory / "cpu.max").read_text() == "50000 100000"
    assert (directory / "memory.max").read_text() == "256000000"
    assert (directory / "memory.swap.max").read_text() == "1000000"
    group.set_read_iops("8:0", 100)
    assert (directory / "io.max").read_text() == "8:0 riops=100"
    (directory / "io.max").write_text("")
    group.set_read_bytes("8:0", 5000)
    assert (directory / "io.max").read_text() == "8:0 rbps=5000"


def test_a_missing_controller_is_a_reason_not_a_new_file(tmp_path: Path) -> None:
    group = plan_group("satline-x", tree_v2(tmp_path / "cgroup", "pids", ""), proc_of(tmp_path, "0::/"))
    group.make()
    with pytest.raises(UnsettableError, match=r"memory\.max does not exist"):
        group.set_memory(1 << 28, None)
    assert list(group.directories[0].iterdir()) == []


def test_v2_takes_the_nearest_group_that_this_user_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree_v2(tmp_path / "cgroup")
    service = tree_v2(root / "user.slice/user@7.service")
    tree_v2(root / "user.slice")
    tree_v2(service / "app.slice/x.scope")
    proc = proc_of(tmp_path, "0::/user.slice/user@7.service/app.slice/x.scope")
    delegated: tuple[Path, ...] = (service, service / "cgroup.procs", service / "app.slice/x.scope")
    monkeypatch.setattr("satline.systems.cgroups.os.access", lambda path, mode: path in delegated and mode)
    assert plan_group("satline-x", root, proc).path == "/user.slice/user@7.service/satline-x"
    delegated = ()
    with pytest.raises(UnsettableError, match="may be written by this user"):
        plan_group("satline-x", root, proc)


def tree_v1(root: Path, *controllers: str) -> Path:
    for name in controllers:
        (root / name).mkdir(parents=True)
        (root / name / "cgroup.procs").touch()
    return root


def test_v1_makes_the_same_path_in_each_hierarchy(tmp_path: Path) -> None:
    root = tree_v1(tmp_path / "cgroup", "cpu,cpuacct", "memory", "blkio", "unified")
    for name in ("cpu", "cpuacct"):
        (root / name).symlink_to("cpu,cpuacct")
    group = plan_group("satline-x", root, tmp_path)
    assert isinstance(group, GroupV1)
    names = [directory.parent.name for directory in group.directories]
    assert names == ["cpu,cpuacct", "memory", "blkio", "unified"]
    group.make()
    with pytest.raises(UnsettableError, match="controller cpuset"):
        group.set_processors([1])
    memory = root / "memory/satline-x"
    for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness"):
        (memory / name).touch()
    group.set_memory(1000, 500)
    written = [
        (memory / f"memory.{name}").read_text()
        for name in ("limit_in_bytes", "memsw.limit_in_bytes", "swappiness")
    ]
    assert written == ["1000", "1500", "60"]
    (root / "blkio/satline-x/blkio.throttle.read_iops_device").touch()
    group.set_read_iops("254:0", 77)
    assert (root / "blkio/satline-x/blkio.throttle.read_iops_device").read_text() == "254:0 77"


def test_no_control_groups_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnsettableError, match="not mounted"):
        plan_group("satline-x", tmp_path / "none", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnsettableError, match="no control group hierarchy"):
        plan_group("satline-x", tmp_path / "empty", tmp_path)


def test_the_kernel_takes_the_limits() -> None:
    try:
        group = plan_group(f"satline-{secrets.token_hex(16)}")
    except UnsettableError as error:
        pytest.skip(str(error))
    if group.borrowed:
        pytest.skip("would switch controllers on for the whole host")
    try:
        group.make()
    except UnsettableError as error:
        pytest.skip(str(error))
    try:
        last = max(os.sched_getaffinity(0))
        group.set_processors([last])
        group.set_cpu_quota(0.5)
        group.set_memory(64 << 20, None)
        texts = {
            path.name: path.read_text().strip()
            for directory in group.directories
            for path in _limit_files(directory)
        }
        assert texts["cpuset.cpus"] == str(last)
        assert "50000" in (texts.get("cpu.cfs_quota_us") or texts["cpu.max"])
        assert str(64 << 20) in (texts.get("memory.limit_in_bytes"), texts.get("memory.max"))
    finally:
        for directory in group.directories:
            directory.rmdir()


def _limit_files(directory: Path) -> list[Path]:
    names = ("cpuset.cpus", "cpu.cfs_quota_us", "cpu.max", "memory.limit_in_bytes", "memory.max")
    return [directory / name for name in names if (directory / name).exists()]
