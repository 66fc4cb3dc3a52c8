"""The swapper with swap space on this kernel: users in control groups of version 2 go out and come back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from satline.recording import Recording

from .conftest import TREE, WAIT_S, wait_for
from .paging import PAGE_BYTES, paging_file, swapped_pages
from .test_swapper import Swapper, swapper

__all__ = ["swapper"]

pytestmark = [pytest.mark.system, pytest.mark.skipif(os.geteuid() != 0, reason="swap is root's")]

SWAP_BYTES = 192 << 20
# However much of the host's storage is free, it is less than all: somebody idle is always written out.
POLICY = """[[watch]]
cgroup = "/{group}/*"
[activity]
tick_ms = 20
rescan_seconds = 0.1
[queue_drop]
idle_seconds = 1.0
[storage]
low = 1.0
high = 1.0
[swap_out]
unknown = "address"
[prepage]
share_of_free_storage = 1.0
[safety]
swap_reserve = 0
"""


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[None]:
    """A swap file of the test's own."""
    with paging_file(tmp_path / "swap", SWAP_BYTES):
        yield


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of version 2 of the test's own."""
    roots = [path for path in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")) if is_version_2(path)]
    if not roots:
        pytest.skip("no control groups of version 2 here")
    made = roots[0] / f"swapper-test-{os.getpid()}"
    made.mkdir()
    yield made
    for path in [*made.iterdir(), made]:
        if path.is_dir():
            wait_for(lambda path=path: not (path / "cgroup.procs").read_text(), "an empty group")
            path.rmdir()


def is_version_2(path: Path) -> bool:
    return (path / "cgroup.controllers").exists()


@pytest.mark.usefixtures("swap")
def test_users_in_groups_of_version_2_go_out_and_come_back(group: Path, swapper: Swapper) -> None:
    place = group / "mary"
    place.mkdir()
    program = str(TREE / "workloads/programs/kernel.py")
    words = ("--megabytes", "40", "--shape", "pages", "--seed", "7")
    mary = swapper.user("mary", sys.executable, program, *words)
    (place / "cgroup.procs").write_text(str(mary.pid))
    said = mary.stdout
    assert said is not None

    def work() -> None:
        assert mary.stdin is not None
        mary.stdin.write("work\n")
        mary.stdin.flush()
        while "worked on" not in said.readline():
            assert mary.poll() is None

    work()
    policy = swapper.directory / "groups.toml"
    policy.write_text(POLICY.format(group=group.name))
    command = [str(swapper.program), "run", "--policy", str(policy), "--status", str(swapper.status)]
    daemon = swapper.run([*command, "--recording", str(swapper.recording)])
    name = f"/{group.name}/mary"
    for stay in (1, 2, 3):
        swapper.wait(name, lambda one: one.state == "swapped", "out")
        out = swapped_pages(mary.pid)
        assert out * PAGE_BYTES > 30 << 20, "nearly all of her 40 MB"
        work()
        # More often than she worked, if work takes long enough for her to seem to rest in the midst of it.
        swapper.wait(name, lambda one, stay=stay: one.resumes >= stay, "back")
    swapper.wait(name, lambda one: one.state == "swapped", "out again")
    status = swapper.said()
    one = swapper.of(name)
    assert status is not None
    assert one is not None
    assert one.working_set_bytes is not None
    assert one.prepaged_pages > 0
    assert one.prepage_errors < one.prepaged_pages / 2
    if status.method != "PAGEMAP_SCAN":
        assert any(lacking["what"] == "PAGEMAP_SCAN" for lacking in status.lacking)
    daemon.terminate()
    assert daemon.wait(WAIT_S) == 0
    assert mary.poll() is None
    with Recording.open(swapper.recording).connect() as connection:
        rows = connection.execute("SELECT text FROM event WHERE event = 'swap-state'").fetchall()
    changes = [tuple(row[0].split("\t")) for row in rows]
    assert (name, "swapped", "resuming") in changes
