"""`satline analyse explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from made_recording import MadeRecording, schema
from made_signs import add_tier
from made_study import Made

from satline.cli.analyse.explain import explain, named
from satline.diagnosis import RULES
from satline.errors import InputError
from satline.recording import describe, write_parquet_table

HOSTILE = "\x1b[31m<b>swap\u202e"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(explain, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def on_disk(recording: MadeRecording, path: Path, system: dict[str, object]) -> Path:
    """The made recording as a directory."""
    describe.create(path, "test", host=recording.description["host"], system_under_test=system)
    describe.write_source(path, "monitor", recording.sources["monitor"])
    for table, of in recording.rows.items():
        made = pa.Table.from_pylist([{"run": 1, **row} for row in of], schema=schema(table))
        write_parquet_table(path, table, made.sort_by("time_ns"))
    return path


def test_the_list_has_every_rule_in_80_columns() -> None:
    lines = run("--list").splitlines()
    assert [line.split()[0] for line in lines] == [rule.name for rule, _ in RULES]
    assert all(len(line) <= 80 for line in lines)
    assert [one["rule"] for one in json.loads(run("--list", "--json"))["findings"]] == [
        rule.name for rule, _ in RULES
    ]


@pytest.mark.parametrize("rule", [rule.name for rule, _ in RULES])
def test_every_rule_is_explained_in_80_columns_with_its_sources_in_full(rule: str) -> None:
    text = run(rule)
    assert all(len(line) <= 80 for line in text.splitlines())
    for heading in ("What", "Why", "Signs", "False readings", "Needs", "Remedies, cheapest first", "Sources"):
        assert f"\n{heading}\n" in text
    content = json.loads(run(rule, "--json"))
    assert content["rule"] == rule
    assert content["signs"]
    assert content["remedies"]
    assert content["judgement"] is None


def test_names_may_be_written_as_one_speaks_and_near_ones_are_suggested() -> None:
    assert named("IO-bound").name == "io_bound"
    assert named("cpu bound").name == "cpu_bound"
    for wrong, right in (("drum", "drum_overflow"), ("trashing", "thrashing")):
        with pytest.raises(InputError) as error:
            named(wrong)
        assert right in str(error.value.hint)
    with pytest.raises(InputError) as error:
        named("zzz")
    assert "--list" in str(error.value.hint)


def test_a_finding_or_the_list_must_be_asked_for_and_not_both() -> None:
    for arguments in ([], ["io_bound", "--list"], ["--list", "--recording", "x"]):
        result = CliRunner().invoke(explain, arguments)
        assert result.exit_code == 2
        assert "--list" in result.output


def test_filters_are_of_a_recording() -> None:
    for arguments in (["--hours", "9-17"], ["--load", "users"]):
        result = CliRunner().invoke(explain, ["io_bound", *arguments])
        assert result.exit_code == 2
        assert "give --recording too" in result.output


def test_a_filter_chooses_what_is_judged(tmp_path: Path) -> None:
    made = Made(cpu=0.02, station=0.2, kind="page", memory_fraction=0.99)
    path = on_disk(made.make(), tmp_path / "r.satline", {"kind": "linux"})
    judged = {}
    for users in ("nobody-of-this-name", None):
        arguments = ["io_bound", "--recording", str(path), "--json", *(["--users", users] if users else [])]
        result = CliRunner().invoke(explain, arguments)
        assert result.exit_code == 0, result.output
        judged[users] = result.output
    assert judged["nobody-of-this-name"] != judged[None]


def test_with_a_recording_its_judgement_and_evidence_are_shown_and_names_are_harmless(tmp_path: Path) -> None:
    made = Made(cpu=0.02, station=0.2, kind="page", memory_fraction=0.99)
    recording = made.make()
    add_tier(recording, made, HOSTILE, 100, 1e9, lambda n: min(1e9, n * 1e8))
    add_tier(recording, made, "/dev/sda2", -2, 8e9, lambda n: max(0, n - 10) * 1e8)
    path = on_disk(recording, tmp_path / "made.satline", {"kind": "simulated", "processors": [0]})
    text = run("drum_overflow", "--recording", str(path))
    assert text.startswith("Drum overflow  (drum_overflow)")
    assert "In this recording\n  It holds, strength" in text
    assert "\\x1b[31m<b>swap" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    judgement = json.loads(run("drum_overflow", "--recording", str(path), "--json"))["judgement"]
    assert judgement["state"] == "holds"
    assert HOSTILE in judgement["summary"]
    blind = run("lock_bound", "--recording", str(path))
    assert "It cannot be judged: not recorded: lock_spin_fraction" in blind
    assert "perf lock contention" in blind


def test_titles_and_remedies_of_virtual_machines_are_in_their_own_terms() -> None:
    rule = named("thrashing")
    told = rule.in_vm_words(rule.finding("holds", "user time falls", strength=1.0))
    assert told.title == "thrashing: too many users at once in storage"
    assert told.remedies == rule.vm_remedies
    assert rule.title == "thrashing: too many users at once in memory"
