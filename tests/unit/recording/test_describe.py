"""recording.toml: made, changed, ended; always whole."""

from __future__ import annotations

import threading
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.recording import describe


def test_a_description_is_as_the_format_says(tmp_path: Path) -> None:
    path = tmp_path / "x.satline"
    created = datetime(2026, 11, 21, 10, 0, 0, 999, tzinfo=timezone(timedelta(hours=1)))
    describe.create(
        path,
        "satline study",
        host={"name": "a\nb"},
        system_under_test={
            "kind": "this-host",
            "cgroup": None,
            "limits": {"memory_bytes": 1, "read_iops": None},
        },
        study={"name": "light", "source": 'text = "x"\n'},
        created=created,
    )
    read = tomllib.loads((path / "recording.toml").read_text())
    identifier = read["recording"].pop("id")
    assert len(bytes.fromhex(identifier)) == 16
    assert read == {
        "format_version": 1,
        "recording": {"created": datetime(2026, 11, 21, 9, tzinfo=UTC), "creator": "satline study"},
        "host": {"name": "a\nb"},
        "system_under_test": {"kind": "this-host", "limits": {"memory_bytes": 1}},
        "study": {"name": "light", "source": 'text = "x"\n'},
    }
    assert sorted(p.name for p in path.iterdir()) == ["recording.toml", "segments", "sources", "tables"]


def test_there_is_one_creator(recording: Path) -> None:
    with pytest.raises(InputError, match="there is a recording already"):
        describe.create(recording, "test")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/x\.satline: cannot make the recording"):
        describe.create(tmp_path / "file" / "x.satline", "test")


def test_changes_keep_the_rest(recording: Path) -> None:
    before = describe.read(recording)
    describe.update(recording, {"system_under_test": {"limits": {"swap_bytes": 5}, "kind": None}, "later": 1})
    describe.end(recording, "interrupted", ended=datetime(2026, 1, 1, tzinfo=UTC))
    after = describe.read(recording)
    assert after["host"] == before["host"]
    assert after["system_under_test"] == {"limits": {"swap_bytes": 5}}
    assert after["later"] == 1
    assert after["recording"] == {
        **before["recording"],
        "ended": datetime(2026, 1, 1, tzinfo=UTC),
        "end_reason": "interrupted",
    }


def test_annotations_of_many_at_once_are_all_kept(recording: Path) -> None:
    texts = [f"drum {n} <script>\x1b[2J" for n in range(8)]
    threads = [threading.Thread(target=describe.annotate, args=(recording, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(a["text"] for a in describe.read(recording)["annotation"]) == texts
    assert [p.name for p in recording.glob(".*")] == []


def test_a_failed_change_leaves_the_old_file(recording: Path) -> None:
    before = (recording / "recording.toml").read_bytes()
    with pytest.raises(TypeError):
        describe.update(recording, {"x": object()})
    assert (recording / "recording.toml").read_bytes() == before
    assert [p.name for p in recording.glob(".*")] == []


def test_every_host_fact_is_read_from_the_roots_given(tmp_path: Path) -> None:
    for name, text in {
        "sys/kernel/hostname": "drum\n",
        "sys/kernel/osrelease": "6.18.1\n",
        "sys/kernel/arch": "aarch64\n",
        "sys/kernel/random/boot_id": "c0ffee\n",
        "stat": "cpu  1\ncpu0 1\ncpu3 1\nintr 5\n",
        "meminfo": "MemTotal:  2048 kB\n",
        "os-release": 'NAME=x\nPRETTY_NAME="Debian GNU/Linux 13"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    facts = describe.host_facts(tmp_path, tmp_path / "os-release")
    assert facts.pop("page_bytes") >= 4096
    assert facts == {
        "name": "drum",
        "kernel": "6.18.1",
        "machine": "aarch64",
        "os": "Debian GNU/Linux 13",
        "processors": 2,
        "memory_bytes": 2048 * 1024,
        "boot_id": "c0ffee",
    }
    absent = describe.host_facts(tmp_path / "none", tmp_path / "none")
    assert set(absent) == {"machine", "page_bytes"}
