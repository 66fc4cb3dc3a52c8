"""Copies without names: no name is left in any byte, the figures stay, the key gives the names back."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.recording import (
    NAMES,
    Key,
    Recording,
    RecordingWriter,
    check,
    compact,
    describe,
    let_go,
    make_key,
    pseudonymise,
    read_key,
    read_names,
    seal,
    sign,
    verify,
    with_names,
    write_parquet_table,
)
from satline.recording._names import Pseudonymiser

from .conftest import write_samples

KEY = Key(bytes(range(32)))
OTHER = Key(bytes(32))
# It is no word that stands, and in no pseudonym: those have no capitals.
SECRET = "Zq0Xw1Jk"
NS = 1_000_000_000


def all_text(path: Path) -> str:
    """Everything that a reader can get out of a recording: raw bytes of all files, their names, all rows."""
    found = [file.read_bytes().decode("latin-1") for file in sorted(path.rglob("*")) if file.is_file()]
    found += [str(file.relative_to(path)) for file in path.rglob("*")]
    for file in path.rglob("*.parquet"):
        rows = duckdb.execute("SELECT * FROM read_parquet(?, hive_partitioning = false)", [str(file)])
        found += [str(value) for row in rows.fetchall() for value in row]
    return "\n".join(found)


def names_everywhere(path: Path) -> None:
    """A recording with names in every text of every table and of every description."""
    description: dict[str, Any] = {
        "host": {
            "name": f"{SECRET}.example.org",
            "boot_id": SECRET,
            "processors": 2,
            "place": f"at {SECRET}",
        },
        "system_under_test": {
            "kind": "this-host",
            "cgroup": f"/user.slice/{SECRET}.slice",
            "limits": {"memory_bytes": 5},
            "not_set": {"swap_bytes": f"/home/{SECRET}/swap cannot be made"},
        },
        "study": {"name": SECRET, "title": SECRET, "source": f"[{SECRET}]", "workload": SECRET},
    }
    describe.create(path, "test", **description)
    describe.annotate(path, f"{SECRET} rebooted it")
    describe.update(path, {"unheard_of": {"who": SECRET}})
    with RecordingWriter(path, "monitor") as writer:
        write_samples(writer, range(3))
        for table in catalogue().tables.values():
            texts = [c.name for c in table.columns if c.type == "text"]
            forms = (
                SECRET,
                f"/a/{SECRET} b/{SECRET}.service",
                f"_{SECRET}",
                f"{SECRET}#pts/3",
                f"tcp/80 {SECRET}",
            )
            rows = [{"time_ns": NS, "monotonic_ns": NS, **dict.fromkeys(texts, form)} for form in forms]
            writer.write_rows(table.name, rows)
        kinds = (
            "annotation",
            "trimmed",
            "swap-state",
            "device-gone",
            "log-on-failed",
            "probe-slow",
            "stopped",
        )
        told = [{"event": kind, "text": f"{SECRET}\tidle\t{SECRET} (block)"} for kind in kinds]
        writer.write_rows("event", told)
    describe.write_source(
        path,
        "monitor",
        {
            "end_reason": "failed",
            "error": f"{SECRET}: no space",
            "users": {"definition": "rules", "rules": f"[[rule]]\nuser = '{SECRET}'"},
            "sampling": {"interval_ms": 1000},
            "missing": [
                {"signal": "x", "reason": f"group {SECRET} and /home/{SECRET}/a have none", "would_need": "y"}
            ],
            "origin": {"files": [f"/home/{SECRET}.sa"], "tool": f"/opt/{SECRET}/sadf"},
            "notes": [SECRET],
            "damage": [f"{SECRET}.log"],
        },
    )
    (path / "trace").mkdir()
    (path / "trace" / "step-01.txt.gz").write_bytes(SECRET.encode())
    describe.end(path, "complete")


@pytest.mark.parametrize("at_rest", [True, False])
def test_no_name_is_left_in_any_byte(tmp_path: Path, at_rest: bool) -> None:
    names_everywhere(tmp_path / "a.satline")
    if at_rest:
        compact(tmp_path / "a.satline")
    assert SECRET in all_text(tmp_path / "a.satline")
    done = pseudonymise(tmp_path / "a.satline", tmp_path / "b.satline", KEY)
    told = all_text(tmp_path / "b.satline")
    for part in (SECRET, "alice", "\x1b[2J"):
        assert part not in told
    assert {"unheard_of", "study.source", "study.workload", "1 traces of the kernel"} == set(done.left_out)
    assert SECRET in read_names(tmp_path / "b.satline" / NAMES, KEY).values()


def test_every_text_of_the_catalogue_says_what_becomes_of_it() -> None:
    without = [
        f"{table.name}.{column.name}"
        for table in catalogue().tables.values()
        for column in table.columns
        if (column.type == "text") != bool(column.names)
    ]
    assert without == []


def test_the_figures_and_the_times_stay(tmp_path: Path) -> None:
    names_everywhere(tmp_path / "a.satline")
    pseudonymise(tmp_path / "a.satline", tmp_path / "b.satline", KEY)
    found = check(tmp_path / "b.satline")
    assert (found.problems, found.checksums, found.end_reason) == ([], True, "complete")
    for table in catalogue().tables.values():
        numbers = [c.name for c in table.columns if c.type != "text"]
        columns = ", ".join(f'"{name}"' for name in numbers)
        before, after = (
            Recording.open(tmp_path / name)
            .connect(tables=[table.name])
            .execute(f'SELECT {columns} FROM "{table.name}" ORDER BY ALL')
            .fetchall()
            for name in ("a.satline", "b.satline")
        )
        assert before == after, table.name
        assert before


def test_one_key_gives_one_pseudonym_and_another_key_another(tmp_path: Path) -> None:
    def users(name: str) -> set[str]:
        query = 'SELECT DISTINCT "user" FROM "user"'
        return {
            u for (u,) in Recording.open(tmp_path / name).connect(tables=["user"]).execute(query).fetchall()
        }

    for name, key in (("1", KEY), ("2", KEY), ("3", OTHER)):
        describe.create(tmp_path / f"{name}.satline", "test", host={"name": "drum"})
        with RecordingWriter(tmp_path / f"{name}.satline", "monitor") as writer:
            write_samples(writer, range(2))
        pseudonymise(tmp_path / f"{name}.satline", tmp_path / f"{name}-copy.satline", key)
    assert users("1-copy.satline") == users("2-copy.satline")
    assert len(users("1-copy.satline")) == 2
    assert not users("1-copy.satline") & users("3-copy.satline")
    first, second, third = (Recording.open(tmp_path / f"{n}-copy.satline").description for n in "123")
    assert first["host"]["name"] == second["host"]["name"] != third["host"]["name"]
    assert first["pseudonyms"]["key"] == second["pseudonyms"]["key"] != third["pseudonyms"]["key"]
    # They are copies of several recordings, and stay several.
    assert len({d["recording"]["id"] for d in (first, second, third)}) == 3


def test_what_names_nobody_stands() -> None:
    names = Pseudonymiser(KEY)
    for rule, texts in {
        "name": ("_kernel", "_satline", "load", "/system.slice", "/user.slice", "/init.scope"),
        "device": ("sda", "sda1", "nvme0n1p2", "dm-0", "/dev/zram0", "lo", "enp3s0", "hdisk4", "sda,sdb"),
        "lock": ("kernel: semaphores, reading", "flock 08:01:1234"),
        "class": ("shell", "tcp/443"),
        "session": ("4711", "connection 17"),
        "terminal": ("pts/3", "tty1"),
        "word": ("q1-candidate", "all", "13", "D", "interrupted"),
        "event": ("window-start",),
        "sentence": ("/proc/pressure/irq does not exist", "limit of 5 % left"),
    }.items():
        for text in texts:
            assert names.replace(text, rule) == text
    assert names.event_text("device-gone", "sdb (block)") == "sdb (block)"
    assert names.names == {}


def test_paths_keep_their_form_and_equal_parts_are_equal() -> None:
    names = Pseudonymiser(KEY)
    alice, nginx = KEY.pseudonym("alice"), KEY.pseudonym("nginx")
    assert names.replace("/user.slice/alice.slice/nginx.service", "name") == (
        f"/user.slice/{alice}.slice/{nginx}.service"
    )
    assert names.replace("alice#pts/3", "name") == f"{alice}#pts/3"
    assert names.replace("_alice", "name") == f"_{alice}"
    assert names.replace("tcp/80 nginx", "class") == f"tcp/80 {nginx}"
    assert names.replace("flock /alice/nginx", "lock") == f"flock /{alice}/{nginx}"
    assert names.replace("/alice", "device") == f"/{alice}"
    assert names.event_text("swap-state", "alice\tidle\ttrimmed") == f"{alice}\tidle\ttrimmed"
    assert names.replace("of alice: 3", "sentence") == f"of {alice}: 3"


def test_users_that_satline_numbered_stand_only_where_it_made_them() -> None:
    assert Pseudonymiser(KEY, emulated=True).replace("load/user-007", "name") == "load/user-007"
    assert Pseudonymiser(KEY).replace("user-007", "name") == KEY.pseudonym("user-007")


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(WORDS, WORDS, st.sampled_from(sorted(set(catalogue().names) - {"sentence", "event-text", "event"})))
def test_texts_are_one_after_as_before_and_come_back(one: str, other: str, rule: str) -> None:
    names = Pseudonymiser(KEY)
    a, b = names.replace(one, rule), names.replace(other, rule)
    assert (a == b) == (one == other)
    # A text that looks like a pseudonym is none, and is replaced like any other.
    assert with_names(a, names.names) == one or "p-" in one


def test_another_key_and_damage_are_told(tmp_path: Path) -> None:
    names_everywhere(tmp_path / "a.satline")
    copy = tmp_path / "b.satline"
    pseudonymise(tmp_path / "a.satline", copy, KEY)
    with pytest.raises(InputError, match="not made with this key"):
        read_names(copy / NAMES, OTHER)
    lines = (copy / NAMES).read_text().splitlines()
    # Lengths of names do not show, but of those that are longer than 28 bytes.
    assert len({len(line) for line in lines[1:]}) <= 3
    at = next(n for n, line in enumerate(lines) if line.startswith(KEY.pseudonym("alice")))
    lines[at] = lines[at][:20] + ("A" if lines[at][20] != "A" else "B") + lines[at][21:]
    (copy / NAMES).write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=f"line {at + 1} is damaged"):
        read_names(copy / NAMES, KEY)


def test_without_the_sealed_names_nothing_gives_them_back(tmp_path: Path) -> None:
    names_everywhere(tmp_path / "a.satline")
    pseudonymise(tmp_path / "a.satline", tmp_path / "b.satline", KEY, with_names=False)
    assert not (tmp_path / "b.satline" / NAMES).exists()
    with pytest.raises(InputError):
        read_names(tmp_path / "b.satline" / NAMES, KEY)


def test_a_key_is_its_owners_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        made = make_key(tmp_path / "key")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert read_key(tmp_path / "key").secret == made.secret
    assert made.secret.hex() not in repr(made)
    with pytest.raises(InputError, match="is there already"):
        make_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(InputError, match="others may read"):
        read_key(tmp_path / "key")
    (tmp_path / "no").write_bytes(b"satline-key-1 " + b"g" * 64)
    (tmp_path / "no").chmod(0o600)
    with pytest.raises(InputError, match="not a key"):
        read_key(tmp_path / "no")


def test_the_pseudonyms_of_a_key_never_change() -> None:
    """As `openssl kdf` (HKDF-SHA-256), `openssl dgst -mac HMAC` and `base32` give them, 60 bits."""
    assert KEY.pseudonym("alice") == "p-vx63ninfvh4h"


def test_what_was_let_go_and_the_umask_go_with_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "a.satline"
    describe.create(source, "test", host={})
    rows = [{"time_ns": n * NS, "monotonic_ns": n * NS, "sample": n} for n in range(4)]
    files = [
        *write_parquet_table(source, "system", rows[:2]),
        *write_parquet_table(source, "system", rows[2:]),
    ]
    let_go(source, files[:1], "let go by retention")
    files[0].unlink()
    umask = os.umask(0o077)
    try:
        pseudonymise(source, tmp_path / "b.satline", KEY)
    finally:
        os.umask(umask)
    assert check(tmp_path / "b.satline").problems == []
    assert '"gone"' in (tmp_path / "b.satline" / "manifest.jsonl").read_text()
    for file in (tmp_path / "b.satline").rglob("*"):
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file


def test_a_recording_that_is_being_written(tmp_path: Path) -> None:
    source = tmp_path / "a.satline"
    describe.create(source, "test", host={})
    with RecordingWriter(source, "monitor") as writer:
        write_samples(writer, range(5))
        done = pseudonymise(source, tmp_path / "b.satline", KEY)
        assert done.rows == {"system": 5, "user": 10}
        assert check(tmp_path / "b.satline").problems == []


def test_what_cannot_be_copied_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "a.satline"
    describe.create(source, "test", host={})
    rows = [{"time_ns": n * NS, "monotonic_ns": n * NS, "sample": n} for n in range(4)]
    (file,) = write_parquet_table(source, "system", rows)
    pseudonymise(source, tmp_path / "b.satline", KEY)
    with pytest.raises(InputError, match="has pseudonyms already"):
        pseudonymise(tmp_path / "b.satline", tmp_path / "c.satline", KEY)
    with pytest.raises(InputError, match="is there already"):
        pseudonymise(source, tmp_path / "b.satline", KEY)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"):
        pseudonymise(source, tmp_path / "c.satline", KEY)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.satline", "b.satline"]


def test_a_signature_is_the_originals(tmp_path: Path) -> None:
    source = tmp_path / "a.satline"
    names_everywhere(source)
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    sign(source, key)
    done = pseudonymise(source, tmp_path / "b.satline", KEY)
    assert done.signed
    assert Recording.open(tmp_path / "b.satline").description["pseudonyms"]["original_signed"] is True
    signers = tmp_path / "signers"
    signers.write_text("me " + key.with_suffix(".pub").read_text())
    with pytest.raises(InputError, match="is not signed"):
        verify(tmp_path / "b.satline", signers)
    sign(tmp_path / "b.satline", key)
    assert verify(tmp_path / "b.satline", signers) == "me"
    (tmp_path / "b.satline" / NAMES).write_bytes(b"")
    with pytest.raises(InputError, match="not as it was signed"):
        verify(tmp_path / "b.satline", signers)


def test_one_of_before_checksums(tmp_path: Path) -> None:
    source = tmp_path / "a.satline"
    describe.create(source, "test", host={})
    write_parquet_table(source, "system", [{"time_ns": NS, "monotonic_ns": NS, "sample": 0}])
    seal(source)
    (source / "manifest.jsonl").unlink()
    text = (source / "recording.toml").read_text()
    (source / "recording.toml").write_text(
        "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(("checksums", "#")))
    )
    pseudonymise(source, tmp_path / "b.satline", KEY)
    assert check(tmp_path / "b.satline").problems == []
