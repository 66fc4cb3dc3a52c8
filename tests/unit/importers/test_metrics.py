"""Metrics of applications by mapping files: load, throughput and waits from PCP archives and Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imports import facts, rows
from pcp_archives import T0, imported, make, needs_bindings, needs_tool
from prometheus_server import Prometheus, serving
from scrapes import T0_MS, made_scrape, text_of

from satline.errors import InputError
from satline.importers import Options, Sink, openmetrics, prometheus
from satline.importers._metrics import read_metrics
from satline.recording import Recording, check
from satline.reduction import reduce

COUNT = 200


def sessions(k: int) -> int:
    return 1 + k // 10 % 15


# ------------------------------------------------------------------------------ PCP

KINDS = {
    "kernel.all.cpu.user": ["u64", "counter", "ms", None],
    "kernel.all.cpu.sys": ["u64", "counter", "ms", None],
    "kernel.all.cpu.idle": ["u64", "counter", "ms", None],
    "db.connections": ["u32", "instant", "count", "db"],
    "db.commits": ["u64", "counter", "count", "db"],
    "db.latch.wait": ["u64", "counter", "ms", "latch"],
    "db.version": ["string", "discrete", "none", None],
}
INSTANCES = {"db": {"shop": 0, "stock": 1, "template0": 2}, "latch": {"buffer": 0, "log": 1}}
PCP_MAPPING = """
[[metric]]
name = "db.connections"
instance = "s*"
to = "system.users_logged_on"
load = true

[[metric]]
name = "db.commits"
to = "system.transactions"

[[metric]]
name = "db.latch.wait"
to = "lock.wait_us"
entity = "*"
"""


def archive(path: Path) -> Path:
    records: list[Any] = []
    commits = waited = 0
    for k in range(COUNT):
        n = sessions(k)
        commits += 5 * n
        waited += 100 * n
        values: dict[str, Any] = {
            "kernel.all.cpu.user": 300 * n * k,
            "kernel.all.cpu.sys": 100 * k,
            "kernel.all.cpu.idle": 900 * k,
            "db.connections": {"shop": n, "stock": 1, "template0": 50},
            # The server of shop was restarted half-way: its counter began anew.
            "db.commits": {"shop": commits - (5000 if k > COUNT // 2 else 0), "stock": 2 * k},
            "db.latch.wait": {"buffer": waited, "log": 7 * k},
            "db.version": "11",
        }
        if k == COUNT // 2:
            commits = 5000
        records.append([T0 + 10 * k, values])
    return make(path, KINDS, INSTANCES, records)


def mapping(tmp_path: Path, text: str) -> Options:
    file = tmp_path / "metrics.toml"
    file.write_text(text)
    return Options(mapping=file)


@needs_tool
@needs_bindings
def test_metrics_of_an_application_are_load_throughput_and_waits(tmp_path: Path) -> None:
    made = imported(archive(tmp_path / "a"), tmp_path / "x.satline", mapping(tmp_path, PCP_MAPPING))
    got = [n for (n,) in rows(made, "SELECT users_logged_on FROM system ORDER BY time_ns")]
    assert got == [sessions(k) + 1 for k in range(COUNT)]
    waits = rows(made, "SELECT lock, max(wait_us) FROM lock GROUP BY lock ORDER BY lock")
    assert waits == [
        ("buffer", sum(100_000 * sessions(k) for k in range(1, COUNT))),
        ("log", 7000 * (COUNT - 1)),
    ]
    curves = reduce(made)
    assert curves.load_axis == "sessions"
    assert "mapping" in facts(made)["origin"]
    rate = curves.observations["transaction_rate"]
    at = np.arange(1, COUNT)
    expected = np.array([(5 * sessions(k) + 2) / 10 for k in at])
    ordinary = at != COUNT // 2 + 1  # after its restart the server had counted some already
    assert rate[ordinary] == pytest.approx(expected[ordinary])
    assert np.isfinite(rate).all()
    # By Little's law: 100 ms × sessions and 7 ms in ten seconds
    assert curves.observations["lock_wait"] == pytest.approx([(sessions(k) * 0.1 + 0.007) / 10 for k in at])


@needs_tool
@needs_bindings
def test_what_is_not_in_the_archive_is_said(tmp_path: Path) -> None:
    text = '[[metric]]\nname = "db.no.such"\nto = "system.transactions"\n'
    made = imported(archive(tmp_path / "a"), tmp_path / "x.satline", mapping(tmp_path, text))
    assert "mapping: no values of db.no.such were found" in facts(made)["notes"]
    text = '[[metric]]\nname = "db.version"\nto = "system.transactions"\n'
    with pytest.raises(InputError, match=r"db\.version is a text"):
        imported(tmp_path / "a", tmp_path / "y.satline", mapping(tmp_path, text))


# ------------------------------------------------------------------------------ Prometheus

SERIES_MAPPING = """
[[metric]]
name = "http_requests_total"
labels = { handler = "/api/*" }
to = "system.transactions"

[[metric]]
name = "http_request_duration_seconds_sum"
to = "system.transaction_us"
factor = 1e6
load = true

[[metric]]
name = "pg_waits_per_second"
kind = "rate"
to = "lock.defers"
entity = "*"
entity_label = "lock"
"""


def scrapes(count: int = 30) -> list[tuple[int, list[Any]]]:
    made = []
    for k in range(count):
        samples = made_scrape(T0_MS / 1000 + 15 * k, 2.0 * k)
        samples += [
            ("http_requests_total", {"handler": "/api/a", "code": "200"}, 30.0 * k),
            ("http_requests_total", {"handler": "/api/b", "code": "200"}, 15.0 * k),
            ("http_requests_total", {"handler": "/health", "code": "200"}, 1000.0 * k),
            ("http_request_duration_seconds_sum", {}, 37.5 * k),
            ("pg_waits_per_second", {"lock": "buffer"}, 4.0),
        ]
        made.append((T0_MS + 15_000 * k, samples))
    return made


def of_text(tmp_path: Path, samples: list[tuple[int, list[Any]]], options: Options) -> Recording:
    source = tmp_path / "host.om"
    source.write_text("".join(text_of(s, f"{t / 1000:.3f}") for t, s in samples) + "# EOF\n")
    return received(tmp_path, openmetrics, str(source), options)


def received(tmp_path: Path, importer: Any, source: str, options: Options) -> Recording:
    sink = Sink(tmp_path / "imported.satline")
    sink.start()
    importer.read(source, options, sink)
    sink.finish()
    assert check(tmp_path / "imported.satline").problems == []
    return Recording.open(tmp_path / "imported.satline")


def verify(made: Recording) -> None:
    curves = reduce(made)
    assert curves.load_axis == "in_flight"
    assert curves.load == pytest.approx(np.full(len(curves.load), 2.5))  # 37.5 s in 15 s
    assert curves.observations["transaction_rate"] == pytest.approx(np.full(len(curves.load), 3.0))
    assert rows(made, "SELECT DISTINCT lock FROM lock") == [("buffer",)]
    assert curves.observations["lock_defer_rate"] == pytest.approx(np.full(len(curves.load), 4.0))


def test_series_of_an_application_in_a_dump(tmp_path: Path) -> None:
    verify(of_text(tmp_path, scrapes(), mapping(tmp_path, SERIES_MAPPING)))


def test_series_of_an_application_on_a_server(tmp_path: Path) -> None:
    with serving(Prometheus()) as server:
        for time, samples in scrapes():
            own = [s for s in samples if s[0].startswith("node_")]
            server.scrape(time, own, instance="web1:9100", job="node")
            server.scrape(time, [s for s in samples if s not in own], instance="web1:8080", job="shop")
            other = [("http_requests_total", {"handler": "/api/a", "code": "200"}, time / 7)]
            server.scrape(time, other, instance="web2:8080", job="shop")
        options = mapping(tmp_path, SERIES_MAPPING)
        from dataclasses import replace
        from datetime import UTC, datetime

        start = datetime.fromtimestamp(T0_MS / 1000 - 60, UTC)
        end = datetime.fromtimestamp(T0_MS / 1000 + 3600, UTC)
        verify(received(tmp_path, prometheus, server.url, replace(options, start=start, end=end)))


def test_an_application_without_its_host_is_imported_too(tmp_path: Path) -> None:
    alone = [(t, [s for s in samples if not s[0].startswith("node_")]) for t, samples in scrapes()]
    made = of_text(tmp_path, alone, mapping(tmp_path, SERIES_MAPPING))
    verify(made)
    assert any("no CPU time is in it" in note for note in facts(made)["notes"])


def test_without_a_mapping_nothing_of_an_application_is_taken(tmp_path: Path) -> None:
    made = of_text(tmp_path, scrapes(), Options())
    assert rows(made, "SELECT count(transactions), count(*) FROM system") == [(0, 30)]


# ------------------------------------------------------------------------------ mapping files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[metric]]\nname = "a"\nto = "user.transactions"\n', '"user" cannot be mapped to'),
        ('[[metric]]\nname = "a"\nto = "system.no_such"\n', 'the catalogue has no "system.no_such"'),
        ('[[metric]]\nname = "a"\nto = "lock.wait_us"\n', "say which lock"),
        ('[[metric]]\nname = "a"\nto = "system.transactions"\nentity = "x"\n', "only a lock has one"),
        ('[[metric]]\nname = "a"\nto = "system.transactions"\nkind = "level"\n', "level does not go with"),
        ('[[metric]]\nname = "a"\nto = "lock.wait_us"\nentity = "x"\nload = true\n', "of the whole system"),
        ('[[metric]]\nname = "a"\nto = "system.transactions"\nlable = {}\n', "lable"),
        (
            2 * '[[metric]]\nname = "a"\nto = "system.transactions"\nload = true\n',
            "load = true stands at several",
        ),
    ],
)
def test_what_is_wrong_in_a_mapping_file_is_said_with_its_place(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "metrics.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"metrics\.toml") as caught:
        read_metrics(file)
    assert message in str(caught.value)
