"""Dumps of promtool, scraped files, and answers of remote read."""

import gzip
import os
import re
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scrapes import EXPORTER, T0_MS, Sample, labelled, made_scrape, real_scrapes, text_of

from satline.errors import InputError
from satline.importers import Options, Sink, openmetrics, prometheus, remote_read
from satline.recording import Recording, check

pytestmark = pytest.mark.slow

BIG = 1_000_000


def imported(tmp_path: Path, source: Path, importer: Any = openmetrics, **options: Any) -> Recording:
    sink = Sink(tmp_path / "imported.satline")
    sink.start()
    importer.read(str(source), Options(**options), sink)
    sink.finish()
    assert check(tmp_path / "imported.satline").problems == []
    return Recording.open(tmp_path / "imported.satline")


def rows(recording: Recording, query: str) -> list[Any]:
    return recording.connect().execute(query).fetchall()


def dump(count: int = 4, step_s: float = 15.0, **made: Any) -> list[tuple[int, list[Sample]]]:
    """Scrapes with their times in ms."""
    first = T0_MS / 1000
    return [
        (round((first + step_s * k) * 1000), made_scrape(first + step_s * k, 10.0 * (k + 1), **made))
        for k in range(count)
    ]


def promtool_dump(scrapes: list[tuple[int, list[Sample]]], instance: str = "10.0.0.1:9100") -> str:
    """As `promtool tsdb dump` prints: the name among the labels, milliseconds, series by series."""
    lines: dict[str, list[str]] = {}
    for time, samples in scrapes:
        for name, labels, value in samples:
            key = labelled({"__name__": name, **labels, "instance": instance, "job": "node"})
            lines.setdefault(key.replace('",', '", '), []).append(f"{value!r} {time}")
    return "".join(f"{key} {line}\n" for key, of in lines.items() for line in of)


def openmetrics_dump(scrapes: list[tuple[int, list[Sample]]]) -> str:
    """As `promtool tsdb dump-openmetrics` prints: seconds, and # EOF."""
    return "".join(text_of(samples, f"{time / 1000:.3f}") for time, samples in scrapes) + "# EOF\n"


@pytest.mark.parametrize("make", [promtool_dump, openmetrics_dump])
def test_a_dump_of_promtool_gives_the_exporters_counters(tmp_path: Path, make: Any) -> None:
    source = tmp_path / "host.om"
    source.write_text(make(dump()))
    assert openmetrics.recognise(str(source)) > 0.8
    assert prometheus.recognise(str(source)) == 0.0
    recording = imported(tmp_path, source)
    assert rows(
        recording,
        "SELECT time_ns, context_switches, block_in_bytes, tasks_runnable, cached_bytes,"
        " pressure_cpu_some_us FROM system ORDER BY time_ns LIMIT 2",
    ) == [
        (T0_MS * BIG, 10_000, 20 * 1024, 3, 1024, 2_500_000),
        ((T0_MS + 15_000) * BIG, 20_000, 40 * 1024, 3, 1024, 5_000_000),
    ]
    # The exporter's user time holds the guests'; the catalogue's does not.
    assert rows(
        recording,
        "SELECT processor, user_us, guest_us, system_us, irq_us, steal_us FROM processor"
        " ORDER BY time_ns, processor LIMIT 2",
    ) == [(c, 5_000_000, 5_000_000, 1_000_000, 30_000, 0) for c in "01"]
    assert rows(
        recording,
        "SELECT device, device_kind, reads, busy_us, read_bytes, errors FROM device"
        " ORDER BY time_ns, device LIMIT 3",
    ) == [
        ("eth0", "network", None, None, 1000, 4),
        ("sda", "block", 100, 5_000_000, None, None),
        ("zram0", "zram", 100, 5_000_000, None, None),
    ]
    assert recording.description["host"] == {
        "name": "web1", "kernel": "6.1", "machine": "x86_64", "processors": 2
    }  # fmt: skip


def test_what_the_exporter_lacks_is_listed_with_what_would_bring_it(tmp_path: Path) -> None:
    source = tmp_path / "host.om"
    source.write_text(openmetrics_dump(dump()))
    missing = {m["signal"]: m for m in imported(tmp_path, source).sources["import"]["missing"]}
    assert "--collector.vmstat.fields" in missing["system.refault_anonymous_pages"]["would_need"]
    assert "user.cpu_us" in missing
    assert "system.context_switches" not in missing


def test_samples_of_one_scrape_are_one_reading_though_their_times_differ(tmp_path: Path) -> None:
    text = ""
    for time, samples in dump(6):
        for number, sample in enumerate(samples):
            text += text_of([sample], f"{(time + 40 * number) / 1000:.3f}")
    source = tmp_path / "host.om"
    source.write_text(text + "# EOF\n")
    recording = imported(tmp_path, source)
    found = rows(recording, "SELECT context_switches, block_in_bytes FROM system ORDER BY time_ns")
    assert found == [(10_000 * k, 20 * 1024 * k) for k in range(1, 7)]


def test_a_restart_begins_a_run_and_a_gap_does_not(tmp_path: Path) -> None:
    before, after = dump(3), dump(6)[4:]
    reborn = [(t, made_scrape(t / 1000, 1.0, boot_s=t / 1000 - 20)) for t, _ in dump(9)[7:]]
    source = tmp_path / "host.om"
    source.write_text(openmetrics_dump([*before, *after, *reborn]))
    recording = imported(tmp_path, source)
    assert rows(recording, "SELECT run, count(*) FROM system GROUP BY run ORDER BY run") == [(1, 5), (2, 2)]


def test_without_a_boot_time_counters_that_fall_together_are_a_restart(tmp_path: Path) -> None:
    scrapes = [*dump(3), *[(t + 60_000, s) for t, s in dump(2)]]
    kept = [(t, [s for s in samples if s[0] != "node_boot_time_seconds"]) for t, samples in scrapes]
    source = tmp_path / "host.om"
    source.write_text(openmetrics_dump(kept))
    assert rows(imported(tmp_path, source), "SELECT max(run) FROM system") == [(2,)]


def test_staleness_and_missing_samples_are_null_and_not_zero(tmp_path: Path) -> None:
    scrapes = dump(4)
    scrapes[1] = (scrapes[1][0], [(n, x, float("nan") if "context" in n else v) for n, x, v in scrapes[1][1]])
    scrapes[2] = (scrapes[2][0], [s for s in scrapes[2][1] if s[1].get("device") != "sda"])
    source = tmp_path / "host.om"
    source.write_text(openmetrics_dump(scrapes).replace("nan", "NaN"))
    recording = imported(tmp_path, source)
    switches = rows(recording, "SELECT context_switches FROM system ORDER BY time_ns")
    assert switches == [(10_000,), (None,), (30_000,), (40_000,)]
    assert rows(recording, "SELECT count(*) FROM device WHERE device = 'sda'") == [(3,)]


def test_several_hosts_need_one_to_be_chosen(tmp_path: Path) -> None:
    text = promtool_dump(dump()) + promtool_dump(dump(node="web2"), "10.0.0.2:9100")
    source = tmp_path / "two.om"
    source.write_text(text)
    with pytest.raises(InputError, match="holds 2 hosts") as told:
        imported(tmp_path, source)
    assert told.value.hint == "choose one with --host: web1, web2"
    (tmp_path / "imported.satline" / "recording.toml").unlink()
    for host in ("web2", "10.0.0.2:9100", "10.0.0.2"):
        where = tmp_path / host.replace(":", "-")
        assert imported(where, source, host=host).description["host"]["name"] == "web2"


def test_a_renamed_instance_is_one_host_and_the_name_is_noted(tmp_path: Path) -> None:
    scrapes = dump(6)
    source = tmp_path / "moved.om"
    source.write_text(promtool_dump(scrapes[:3]) + promtool_dump(scrapes[3:], "web1.example:9100"))
    recording = imported(tmp_path, source)
    assert rows(recording, "SELECT max(context_switches), count(*), max(run) FROM system") == [(60_000, 6, 1)]
    assert "10.0.0.1:9100, web1.example:9100" in recording.sources["import"]["notes"][0]


def test_two_jobs_that_scrape_one_host_are_not_mixed(tmp_path: Path) -> None:
    text = promtool_dump(dump(6))
    other = [(t + 4000, [(n, x, v + 1) for n, x, v in samples]) for t, samples in dump(5)]
    source = tmp_path / "two.om"
    source.write_text(text + promtool_dump(other).replace('job="node"', 'job="other"'))
    switches = rows(imported(tmp_path, source), "SELECT context_switches FROM system ORDER BY time_ns")
    assert switches == [(10_000 * k,) for k in range(1, 7)]


def test_times_outside_those_asked_for_are_left_out(tmp_path: Path) -> None:
    source = tmp_path / "host.om"
    source.write_text(openmetrics_dump(dump(6)))
    start, end = (datetime.fromtimestamp(T0_MS / 1000 + s, UTC) for s in (15, 45))
    assert rows(imported(tmp_path, source, start=start, end=end), "SELECT count(*) FROM system") == [(2,)]


def test_scraped_files_of_a_directory_take_the_exporters_clock(tmp_path: Path) -> None:
    source = tmp_path / "scrapes"
    source.mkdir()
    for number, (_, samples) in enumerate(dump(3)):
        (source / f"{9 - number}.prom").write_text("# TYPE node_time_seconds gauge\n" + text_of(samples))
    (source / "notes.txt").write_text("taken by hand\n")
    assert openmetrics.recognise(str(source)) > 0.8
    recording = imported(tmp_path, source)
    assert rows(recording, "SELECT time_ns FROM system ORDER BY time_ns")[1] == ((T0_MS + 15_000) * BIG,)
    assert ["notes.txt: left out" in d for d in recording.sources["import"]["damage"]] == [True]


def test_scrapes_one_after_another_in_a_compressed_file(tmp_path: Path) -> None:
    source = tmp_path / "all.prom.gz"
    source.write_bytes(gzip.compress("".join(text_of(samples) for _, samples in dump(5)).encode()))
    assert openmetrics.recognise(str(source)) > 0.8
    assert rows(imported(tmp_path, source), "SELECT count(*), max(context_switches) FROM system") == [
        (5, 50_000)
    ]


def test_a_single_scrape_is_refused_with_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "one.prom"
    source.write_text(text_of(dump(1)[0][1]))
    with pytest.raises(InputError, match="holds one scrape") as told:
        imported(tmp_path, source)
    assert "directory" in told.value.hint


@pytest.mark.parametrize("make", [promtool_dump, openmetrics_dump])
def test_several_dumps_are_ordered_by_their_first_sample(tmp_path: Path, make: Any) -> None:
    (tmp_path / "a").write_text(make(dump()))
    assert openmetrics.begins(str(tmp_path / "a")) == T0_MS / 1000
    assert openmetrics.begins(str(tmp_path)) == T0_MS / 1000
    assert openmetrics.begins(str(tmp_path / "nowhere")) == 0.0


def test_scrapes_without_a_clock_take_the_time_of_their_file(tmp_path: Path) -> None:
    source = tmp_path / "scrapes"
    source.mkdir()
    for name, (_, samples) in zip(
        ("n-2026-11-20T09:00:00.prom", "n-1795165260.prom", "last"), dump(3), strict=True
    ):
        (source / name).write_text(text_of([s for s in samples if s[0] != "node_time_seconds"]))
    os.utime(source / "last", (1_795_165_320, 1_795_165_320))
    recording = imported(tmp_path, source)
    times = [t // 10**9 for (t,) in rows(recording, "SELECT time_ns FROM system ORDER BY time_ns")]
    assert times == [1_795_165_200, 1_795_165_260, 1_795_165_320]
    assert len(recording.sources["import"]["notes"]) == 3


def test_several_scrapes_without_any_time_are_refused(tmp_path: Path) -> None:
    text = "".join(text_of([s for s in samples if s[0] != "node_time_seconds"]) for _, samples in dump(3))
    source = tmp_path / "x.prom"
    source.write_text(text)
    with pytest.raises(InputError, match="several scrapes, and no time"):
        imported(tmp_path, source)


def test_damaged_lines_and_a_damaged_tail_are_told_and_left_out(tmp_path: Path) -> None:
    text = openmetrics_dump(dump(4))
    lines = text.splitlines(keepends=True)[:-1]
    lines[3:3] = ["node_load1{ 5 7\n", "node_load1 1 2 3 4\n", "node_load1 x 1795000000\n", "\0\n"]
    lines += ["node_load1 5 1e300\n", "node_load1 2.5 17950"]
    source = tmp_path / "x.om"
    source.write_text("".join(lines))
    recording = imported(tmp_path, source)
    damage = recording.sources["import"]["damage"]
    assert "ends within the line" in damage[0]
    assert re.search(r"line 4: no sample; 5 such lines", damage[1])
    assert rows(recording, "SELECT count(*), count(load_average_1) FROM system") == [(4, 0)]


def test_a_cut_compressed_file_gives_what_lies_before_the_cut(tmp_path: Path) -> None:
    packed = gzip.compress(openmetrics_dump(dump(400)).encode())
    source = tmp_path / "x.om.gz"
    source.write_bytes(packed[: len(packed) // 2])
    recording = imported(tmp_path, source)
    assert 50 < rows(recording, "SELECT count(*) FROM system")[0][0] < 400
    assert "damaged after line" in recording.sources["import"]["damage"][0]


def test_exemplars_and_hostile_labels_are_read_past(tmp_path: Path) -> None:
    evil = 'a"}\\ \n# {x'
    samples = [(n, {**x, "device": evil} if x.get("device") == "sda" else x, v) for n, x, v in dump(1)[0][1]]
    text = text_of(samples, "1795000000")
    text += text_of(samples, "1795000015").replace("node_forks_total", "node_forks_total")
    text += 'node_forks_total 7.0 1795000015.000 # {trace_id="ab"} 0.6 1795000015\n'
    source = tmp_path / "x.om"
    source.write_text(text)
    recording = imported(tmp_path, source)
    assert (evil,) in rows(recording, "SELECT DISTINCT device FROM device")
    assert rows(recording, "SELECT max(forks) FROM system") == [(7,)]


def test_text_that_is_no_metrics_is_not_recognised(tmp_path: Path) -> None:
    for name, text in {
        "a": "",
        "b": "a,b\n1,2\n",
        "c": "Linux 5.0 (h)\n10:00 CPU %user\n",
        "d": "x 1\n",
    }.items():
        (tmp_path / name).write_text(text)
        assert openmetrics.recognise(str(tmp_path / str(name))) < 0.5
    assert openmetrics.recognise(str(tmp_path / "nowhere")) == 0.0


def test_a_file_without_any_known_series_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "x.om"
    source.write_text('go_gc{a="b"} 1 1795000000\n# EOF\n')
    with pytest.raises(InputError, match="no series of node_exporter"):
        imported(tmp_path, source)


@pytest.mark.skipif(EXPORTER is None, reason="node_exporter is not installed")
def test_a_real_exporters_scrapes_are_imported(tmp_path: Path) -> None:
    texts = real_scrapes(4)
    source = tmp_path / "all.prom"
    source.write_text("".join(texts))
    recording = imported(tmp_path, source)
    said = re.findall(r"^node_context_switches_total (\S+)$", "".join(texts), re.MULTILINE)
    assert [s for (s,) in rows(recording, "SELECT context_switches FROM system ORDER BY time_ns")] == [
        int(float(x)) for x in said
    ]
    cpus = set(re.findall(r'^node_cpu_seconds_total\{cpu="(\d+)"', texts[0], re.MULTILINE))
    assert recording.description["host"]["processors"] == len(cpus)
    idle = re.findall(r'^node_cpu_seconds_total\{cpu="0",mode="idle"\} (\S+)$', texts[0], re.MULTILINE)
    first = rows(recording, "SELECT idle_us FROM processor WHERE processor = '0' ORDER BY time_ns LIMIT 1")
    assert first[0][0] == round(float(idle[0]) * 1e6)


# ------------------------------------------------------------------ remote read


def varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def answer_of(scrapes: list[tuple[int, list[Sample]]]) -> bytes:
    """A ReadResponse; as in protobuf a value of 0 is not written."""
    series: dict[tuple[str, tuple[tuple[str, str], ...]], bytes] = {}
    for time, samples in scrapes:
        for name, labels, value in samples:
            number = b"\x09" + struct.pack("<d", value) if value else b""
            key = (name, tuple(labels.items()))
            series[key] = series.get(key, b"") + field(2, number + b"\x10" + varint(time))
    made = b""
    for (name, labels), content in series.items():
        pairs = [("__name__", name), ("instance", "a:9100"), *labels]
        made += field(
            1, b"".join(field(1, field(1, k.encode()) + field(2, v.encode())) for k, v in pairs) + content
        )
    return field(1, made)


@pytest.mark.parametrize("packed", [True, False])
def test_an_answer_of_remote_read_gives_the_same_as_text(tmp_path: Path, packed: bool) -> None:
    scrapes = [(t, [(n, x, v * (k % 3 > 0)) for n, x, v in s]) for k, (t, s) in enumerate(dump(7))]
    scrapes = [(t, [(n, x, v) for n, x, v in s if n not in ("node_boot_time_seconds", "node_uname_info")])
               for t, s in scrapes]  # fmt: skip
    data = answer_of(scrapes)
    source = tmp_path / "answer"
    source.write_bytes(pa.Codec("snappy").compress(data, asbytes=True) if packed else data)
    assert remote_read.recognise(str(source)) > 0.5
    recording = imported(tmp_path, source, remote_read)
    found = rows(recording, "SELECT time_ns, context_switches FROM system ORDER BY time_ns")
    assert found == [((T0_MS + 15_000 * k) * BIG, 10_000 * (k + 1) * (k % 3 > 0)) for k in range(7)]


def test_a_damaged_answer_of_remote_read_is_refused(tmp_path: Path) -> None:
    whole = bytes(pa.Codec("snappy").compress(answer_of(dump(3)), asbytes=True))
    source = tmp_path / "answer"
    for data in (whole[:-40], b"\xff" * 9 + whole, answer_of(dump(3))[:-40], varint(2**40) + whole[2:], b""):
        source.write_bytes(data)
        with pytest.raises(InputError, match=re.escape(str(source))) as told:
            imported(tmp_path / str(len(data)), source, remote_read)
        assert told.value.hint
