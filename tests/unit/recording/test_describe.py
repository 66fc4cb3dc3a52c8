"""recording.toml: made, changed, ended; always whole."""

from __future__ import annotations

import contextlib
import threading
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.errors import InputError
from satline.recording import Recording, describe
from satline.recording._facts import check_description, check_source

QUOTA = "system_under_test.limits.cpu_quota_processors"


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
        "checksums": 1,
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
        "writers": [],
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


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("sampling = 3", "sampling"),
        ("sampling.interval_ms = 'often'", "sampling.interval_ms"),
        ("sampling.interval_ms = nan", "sampling.interval_ms"),
        ("sampling.interval_ms = -1", "sampling.interval_ms"),
        ("sampling.samples_lost = 0.5", "sampling.samples_lost"),
        ("sampling.samples = true", "sampling.samples"),
        ("sampling.lateness_us = 5", "sampling.lateness_us"),
        ("sampling.lateness_us.p99 = '5'", "sampling.lateness_us.p99"),
        ("users = 'uid'", "users"),
        ("users.definition = 3", "users.definition"),
        ("methods = []", "methods"),
        ("missing = ['d_forks']", "missing"),
        ("missing = 3", "missing"),
        ("valid = 'no'", "valid"),
        ("lateness.p99_us = []", "lateness.p99_us"),
        ("cost = 3", "cost"),
        ("cost.window_processor_share = 'all'", "cost.window_processor_share"),
        ("end_reason = 3", "end_reason"),
        ("damage = 'sa21'", "damage"),
        ("notes = [1]", "notes"),
        ("origin = 'sar'", "origin"),
    ],
)
def test_a_source_of_a_wrong_type_is_told_by_file_and_key(recording: Path, line: str, key: str) -> None:
    (recording / "sources").mkdir(exist_ok=True)
    (recording / "sources/monitor.toml").write_text(f"writer = 'monitor'\n{line}\n")
    with pytest.raises(InputError) as caught:
        Recording.open(recording)
    assert caught.value.message.startswith(f"{recording}/sources/monitor.toml: {key} is ")
    assert ", it should be " in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("recording = 3", "recording"),
        ("host.processors = 'two'", "host.processors"),
        ("host.page_bytes = inf", "host.page_bytes"),
        ("system_under_test.processors = ['a']", "system_under_test.processors"),
        ("system_under_test.limits = 3", "system_under_test.limits"),
        ("system_under_test.limits = { cpu_quota_processors = '1' }", QUOTA),
        (f"system_under_test.limits.read_iops = {10**400}", "system_under_test.limits.read_iops"),
        ("system_under_test.not_set = []", "system_under_test.not_set"),
        ("study = 'x'", "study"),
        ("annotation = 'second drum'", "annotation"),
    ],
)
def test_a_description_of_a_wrong_type_is_told_by_file_and_key(tmp_path: Path, line: str, key: str) -> None:
    (tmp_path / "recording.toml").write_text(f"format_version = 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        Recording.open(tmp_path)
    assert caught.value.message.startswith(f"{tmp_path}/recording.toml: {key} is ")
    assert len(caught.value.message) < 300 + len(str(tmp_path))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["sampling", "p99", "host", "limits", "interval_ms"]), inner)
        ),
    )
)
def test_whatever_stands_there_is_right_or_an_input_error(value: Any) -> None:
    for key in ("sampling", "users", "missing", "host", "system_under_test", "damage"):
        for check in (check_description, check_source):
            with contextlib.suppress(InputError):
                check(Path("x.toml"), {key: value})
