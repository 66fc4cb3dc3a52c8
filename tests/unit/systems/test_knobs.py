"""Knobs of the kernel: turned, turned back whatever happens, and what cannot be turned."""

import secrets
from pathlib import Path

import pytest

from satline.systems import Configuration, Knobs, Limits
from satline.systems.cgroups import UnsettableError
from satline.systems.knobs import swap_bytes_of
from satline.systems.ledger import Ledger
from satline.systems.resources import write_swap_file
from satline.systems.this_host import ThisHost
from satline.systems.undo import undo


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    (proc / "sys/vm").mkdir(parents=True)
    (proc / "sys/vm/page-cluster").write_text("3\n")
    (proc / "sys/vm/swappiness").write_text("60\n")
    (sys / "kernel/mm/lru_gen").mkdir(parents=True)
    (sys / "kernel/mm/lru_gen/enabled").write_text("0x0007\n")
    return proc, sys


def host(tmp_path: Path, roots: tuple[Path, Path]) -> ThisHost:
    return ThisHost(cgroup_root=tmp_path / "none", proc=roots[0], sys=roots[1], state=tmp_path / "state")


def configuration(tmp_path: Path, **knobs: object) -> Configuration:
    return Configuration(
        secrets.token_hex(16),
        Limits(),
        tmp_path,
        delay_accounting=False,
        knobs=Knobs(**knobs),  # type: ignore[arg-type]
    )


def values(roots: tuple[Path, Path]) -> list[str]:
    files = ("sys/vm/page-cluster", "sys/vm/swappiness")
    text = [(roots[0] / file).read_text().strip() for file in files]
    return [*text, (roots[1] / "kernel/mm/lru_gen/enabled").read_text().strip()]


def test_knobs_are_turned_and_turned_back(tmp_path: Path, roots: tuple[Path, Path]) -> None:
    one = host(tmp_path, roots)
    conditions = one.prepare(configuration(tmp_path, page_cluster=0, swappiness=100, mglru=0))
    assert values(roots) == ["0", "100", "0"]
    assert conditions.knobs == {"page_cluster": 0, "swappiness": 100, "mglru": 0}
    assert conditions.not_set == {}
    assert one.restore() == []
    assert values(roots) == ["3", "60", "0x0007"]


def test_knobs_that_are_so_already_are_left(tmp_path: Path, roots: tuple[Path, Path]) -> None:
    one = host(tmp_path, roots)
    conditions = one.prepare(configuration(tmp_path, page_cluster=3, mglru=7))
    assert conditions.knobs == {"page_cluster": 3, "mglru": 7}
    ledger = next((tmp_path / "state").glob("*.ledger"))
    assert not any(entry["kind"] == "sysctl" for entry in Ledger(ledger).entries())
    assert one.restore() == []


def test_the_ledger_alone_turns_them_back(tmp_path: Path, roots: tuple[Path, Path]) -> None:
    one = host(tmp_path, roots)
    one.prepare(configuration(tmp_path, page_cluster=0, mglru=0))
    ledger = Ledger(next((tmp_path / "state").glob("*.ledger")))
    copy = Ledger(tmp_path / "copy.ledger")
    copy.path.write_bytes(ledger.path.read_bytes())
    assert undo(copy) == []
    assert values(roots) == ["3", "60", "0x0007"]
    assert one.restore() == []


def test_knobs_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/vm").mkdir(parents=True)
    one = host(tmp_path, (tmp_path / "proc", tmp_path / "sys"))
    conditions = one.prepare(configuration(tmp_path, mglru=7, swap_device=tmp_path / "no-device"))
    assert set(conditions.not_set) == {"mglru", "swap_device"}
    assert "No such file" in conditions.not_set["mglru"]
    assert one.restore() == []


def test_only_what_mkswap_made_is_swapped_on(tmp_path: Path) -> None:
    other = tmp_path / "letters"
    other.write_bytes(b"Dear Sir" * 10_000)
    before = other.read_bytes()
    with pytest.raises(UnsettableError, match="mkswap"):
        swap_bytes_of(other)
    assert other.read_bytes() == before
    with pytest.raises(UnsettableError, match="No such file"):
        swap_bytes_of(tmp_path / "none")
    write_swap_file(tmp_path / "swap", 1 << 20)
    assert swap_bytes_of(tmp_path / "swap") == 1 << 20
