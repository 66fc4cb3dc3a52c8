"""One study per host, whatever the state directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.experiment.guard import only_one
from satline.systems.lock import host_held


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "lock"
    directory.mkdir()
    monkeypatch.setenv("SATLINE_LOCK_DIR", str(directory))
    return directory


def test_another_state_directory_is_the_same_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    with only_one():
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
        with pytest.raises(InputError, match="another study is running on this host: it holds"), only_one():
            pass
    with only_one():
        pass
    assert [p.name for p in locks.iterdir()] == ["satline-study.lock"]


def test_every_user_may_hold_it_whatever_the_umask(locks: Path) -> None:
    before = os.umask(0o077)
    try:
        with host_held("x", busy="", hint=""):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((locks / "x.lock").stat().st_mode) == 0o644


def test_a_link_in_its_place_is_not_followed(locks: Path, tmp_path: Path) -> None:
    (locks / "x.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be opened"), host_held("x", busy="", hint=""):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_host_without_such_a_directory_is_not_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SATLINE_LOCK_DIR", str(tmp_path / "nowhere"))
    with host_held("x", busy="", hint=""):
        pass
