"""A Prometheus by its HTTP API, its answers in a file, and the users among its series."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_server import Prometheus, serving
from scrapes import EXPORTER, T0_MS, made_scrape, real_scrapes

from satline.errors import InputError
from satline.importers import IMPORTERS, Options, Sink, prometheus
from satline.importers._prometheus_client import PASSWORD, TOKEN, USER, Client
from satline.importers._series import Series, accumulated, make_grid, merged, on_grid
from satline.recording import Recording, check
from satline.reduction import reduce

STEP_MS = 15_000
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Prometheus]:
    for name in (TOKEN, USER, PASSWORD):
        monkeypatch.delenv(name, raising=False)
    with serving(Prometheus()) as made:
        yield made


def fill(server: Prometheus, count: int = 40, node: str = "web1", instance: str = "10.0.0.1:9100") -> None:
    for k in range(count):
        time = T0_MS + STEP_MS * k
        samples = made_scrape(time / 1000, 10.0 * (k + 1), node=node)
        server.scrape(time, samples, instance=instance, job="node")


def imported(tmp_path: Path, source: str, minutes: float = 60, **options: Any) -> Recording:
    start = datetime.fromtimestamp(T0_MS / 1000 - 60, UTC)
    end = datetime.fromtimestamp(T0_MS / 1000 + 60 * minutes, UTC)
    sink = Sink(tmp_path / "imported.satline")
    sink.start()
    prometheus.read(source, Options(**{"start": start, "end": end, **options}), sink)
    sink.finish()
    assert check(tmp_path / "imported.satline").problems == []
    return Recording.open(tmp_path / "imported.satline")


def rows(recording: Recording, query: str) -> list[Any]:
    return recording.connect().execute(query).fetchall()


def test_a_servers_raw_samples_keep_the_times_of_the_scrapes(tmp_path: Path, server: Prometheus) -> None:
    fill(server)
    recording = imported(tmp_path, server.url)
    found = rows(recording, "SELECT time_ns, context_switches FROM system ORDER BY time_ns")
    assert found == [((T0_MS + STEP_MS * k) * 10**6, 10_000 * (k + 1)) for k in range(40)]
    assert recording.description["host"]["name"] == "web1"
    assert recording.sources["import"]["origin"]["files"] == [server.url]


def test_a_server_that_holds_too_much_is_asked_for_less(tmp_path: Path, server: Prometheus) -> None:
    fill(server)
    server.refuse_above = 600
    recording = imported(tmp_path, server.url)
    assert rows(recording, "SELECT count(*), max(context_switches) FROM system") == [(40, 400_000)]
    server.refuse_above = 50
    with pytest.raises(InputError, match="too many samples"):
        imported(tmp_path / "again", server.url)


def test_a_server_of_several_hosts_lists_them(tmp_path: Path, server: Prometheus) -> None:
    fill(server)
    fill(server, 30, "web2", "10.0.0.2:9100")
    with pytest.raises(InputError, match="holds 2 hosts") as told:
        imported(tmp_path, server.url)
    assert told.value.hint == "choose one with --host: web1, web2"
    (tmp_path / "imported.satline" / "recording.toml").unlink()
    recording = imported(tmp_path, server.url, host="web2")
    assert rows(recording, "SELECT count(*) FROM system") == [(30,)]
    assert not any("10.0.0.1" in q for q in server.asked[-4:])


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({TOKEN: "s3cret"}, "Bearer s3cret"),
        ({USER: "ann", PASSWORD: "pä:ss"}, "Basic " + base64.b64encode("ann:pä:ss".encode()).decode()),
    ],
)
def test_secrets_come_from_the_environment_and_stay_out_of_the_recording(
    tmp_path: Path,
    server: Prometheus,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    wanted: str,
) -> None:
    fill(server)
    server.authorization = wanted
    with pytest.raises(InputError, match="does not let us ask") as told:
        imported(tmp_path, server.url)
    assert TOKEN in told.value.hint
    (tmp_path / "imported.satline" / "recording.toml").unlink()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    recording = imported(tmp_path, server.url)
    written = "".join(f.read_text() for f in recording.path.rglob("*.toml"))
    assert not any(value in written for value in environment.values() if value != "ann")


@pytest.mark.parametrize(
    ("behave", "message"),
    [
        ("html", "does not answer as Prometheus does"),
        ("redirect", "sends to http://elsewhere.example/"),
        ("error", "400 Bad Request: parse error"),
        ("", "no series of node_exporter or cAdvisor"),
    ],
)
def test_a_server_that_is_no_use_is_told(
    tmp_path: Path, server: Prometheus, behave: str, message: str
) -> None:
    server.behave = behave
    with pytest.raises(InputError, match=message):
        imported(tmp_path, server.url)


@pytest.mark.parametrize("url", ["http://ann:pw@h:9090", "http://", "http://h:99999999"])
def test_a_url_that_cannot_be_used_is_refused_without_repeating_a_secret(url: str) -> None:
    with pytest.raises(InputError) as told:
        Client.of(url, {})
    assert "pw" not in told.value.message + told.value.hint


def test_a_server_that_does_not_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be asked"):
        imported(tmp_path, "http://127.0.0.1:9")


def test_the_address_may_be_a_page_of_it() -> None:
    for url in ("http://h:9090/", "http://h:9090/graph", "http://h:9090/api/v1/query?query=up"):
        assert Client.of(url, {}).base == "http://h:9090"
    assert Client.of("https://[::1]:9090/prom/", {}).base == "https://[::1]:9090/prom"


def test_answers_kept_in_a_file_are_read(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 20)
    query = {"query": '{instance=~".*"}[3600000ms]', "time": str(T0_MS / 1000 + 3000)}
    whole = json.dumps(server.answer("query", query)[1])
    half = whole.replace(f"[{T0_MS / 1000}", f"[{T0_MS / 1000 - 15}")
    source = tmp_path / "answers.json"
    source.write_text(half + "\n" + whole)
    assert prometheus.recognise(str(source)) > 0.8
    recording = imported(tmp_path, str(source))
    assert rows(recording, "SELECT count(*) FROM system") == [(21,)]
    source.write_text(whole + "\n" + whole[:200])
    assert "answer 2" in imported(tmp_path / "cut", str(source)).sources["import"]["damage"][0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"status":"success","data":{"resultType":"matrix","result":[{"metric":3}]}}', "no answer of"),
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', "no series of node_exporter"),
        ('{"status":"error","error":"no"}', "an answer with an error: no"),
        ('{"status":', "no whole JSON"),
        ("[1]", "no JSON object"),
    ],
)
def test_files_that_are_no_answers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    source = tmp_path / "x.json"
    source.write_text(text)
    with pytest.raises(InputError, match=message):
        imported(tmp_path, str(source))


# ------------------------------------------------------------------ users


def container(
    server: Prometheus, labels: dict[str, str], seconds: list[float | None], offset_ms: int = 0
) -> None:
    for k, value in enumerate(seconds):
        if value is not None:
            at = T0_MS + STEP_MS * k + offset_ms
            name = "container_cpu_usage_seconds_total"
            server.add(name, {"cpu": "total", "instance": "10.0.0.1:10250", **labels}, at, value)


def test_users_are_pods_and_never_fall_when_their_containers_go(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 6)
    pod = {"namespace": "jupyter", "pod": "ann"}
    container(server, {**pod, "container": "lab", "id": "/a"}, [1, 2, 4, None, None, None], 3000)
    container(server, {**pod, "container": "lab", "id": "/b"}, [None, None, 100, 101, 1, 3], 3000)
    container(server, {**pod, "container": "POD", "id": "/c"}, [7] * 6)
    container(server, {**pod, "container": "", "id": "/d"}, [7, 8, 9, 10, 11, 12])
    container(
        server, {"namespace": "jupyter", "pod": "bob", "container": "x", "id": "/e"}, [0, 5, 6, 7, 8, 9]
    )
    container(server, {"id": "/"}, [50, 60, 70, 80, 90, 100])
    recording = imported(tmp_path, server.url)
    users = rows(recording, 'SELECT "user", list(cpu_us ORDER BY time_ns) FROM "user" GROUP BY 1 ORDER BY 1')
    # 2 − 1, 4 − 2; the second container's 101 − 100, then it began again at 0: 1, and 3 − 1.
    assert users == [
        ("jupyter/ann", [0, 1_000_000, 3_000_000, 4_000_000, 5_000_000, 7_000_000]),
        ("jupyter/bob", [0, 5_000_000, 6_000_000, 7_000_000, 8_000_000, 9_000_000]),
    ]
    assert rows(recording, "SELECT DISTINCT users_logged_on FROM system") == [(2,)]
    assert reduce(recording).load_axis == "active_users"
    assert "users are pods (namespace/pod)" in recording.sources["import"]["notes"]


def test_containers_of_another_host_are_left_out(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 6)
    fill(server, 6, "web2", "10.0.0.2:9100")
    for place, name in (({"instance": "10.0.0.1:8080"}, "mine"), ({"instance": "10.0.0.2:8080"}, "other"),
                        ({"instance": "k:10250", "node": "web1"}, "by-node")):  # fmt: skip
        container(server, {"name": name, "id": f"/docker/{name}", **place}, [0, 1, 2, 3, 4, 5])
    recording = imported(tmp_path, server.url, host="web1")
    assert rows(recording, 'SELECT DISTINCT "user" FROM "user" ORDER BY 1') == [("by-node",), ("mine",)]


def test_users_slices_are_users_where_there_are_no_containers(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 4)
    for part in ("/user.slice/user-1000.slice", "/user.slice", "/system.slice/x.service"):
        container(server, {"id": part}, [0, 1, 2, 3])
    assert rows(imported(tmp_path, server.url), 'SELECT DISTINCT "user" FROM "user"') == [("user-1000",)]


def test_a_mapping_file_says_which_labels_name_a_user(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 4)
    container(server, {"namespace": "a", "pod": "p", "container": "c1"}, [0, 1, 2, 3])
    container(server, {"namespace": "a", "pod": "q", "container": "c1"}, [0, 1, 2, 3])
    mapping = tmp_path / "m.toml"
    mapping.write_text('[users]\nlabels = ["namespace"]\n')
    recording = imported(tmp_path, server.url, mapping=mapping)
    assert rows(recording, 'SELECT "user", max(cpu_us) FROM "user" GROUP BY 1') == [("a", 6_000_000)]
    mapping.write_text('[users]\nlabels = "namespace"\n')
    with pytest.raises(InputError, match=r"users\.labels is not a list"):
        imported(tmp_path / "again", server.url, mapping=mapping)


def test_users_that_are_read_less_often_set_the_readings(tmp_path: Path, server: Prometheus) -> None:
    fill(server, 13)
    for k in range(0, 13, 4):
        container(server, {"name": "c"}, [None] * k + [float(k)])
    recording = imported(tmp_path, server.url)
    assert rows(recording, "SELECT count(*) FROM system") == [(4,)]
    assert rows(recording, 'SELECT count(*), max(cpu_us) FROM "user"') == [(4, 12_000_000)]
    assert any("users are read every 60 s" in n for n in recording.sources["import"]["notes"])


# ------------------------------------------------------------------ series


def series(times: list[int], values: list[float]) -> Series:
    return Series("x", {}, np.array(times), np.array(values, dtype=float))


def test_a_counter_that_began_again_adds_its_new_value() -> None:
    assert accumulated(series([0, 1, 2, 3], [5, 7, 1, 4])).value.tolist() == [0, 2, 3, 6]


def test_a_grid_holds_each_reading_once() -> None:
    first, other = series([0, 100, 200, 300], [1, 2, 3, 4]), series([40, 140, 500], [1, 2, 3])
    grid, half = make_grid([other, first])
    assert (grid.tolist(), half) == ([0, 100, 200, 300, 500], 50)
    assert np.array_equal(on_grid(other, grid, half), [1, 2, np.nan, np.nan, 3], equal_nan=True)
    assert make_grid([series([7], [1])])[0].tolist() == [7]


def test_overlapping_series_of_two_collectors_are_never_mixed() -> None:
    made = merged([series([5, 15], [50, 150]), series([10, 20, 30], [1, 2, 3])])
    assert (made.time_ms.tolist(), made.value.tolist()) == ([5, 10, 20, 30], [50, 1, 2, 3])


# ------------------------------------------------------------------ the real thing


@pytest.mark.skipif(EXPORTER is None, reason="node_exporter is not installed")
def test_a_server_with_a_real_exporters_scrapes(tmp_path: Path, server: Prometheus) -> None:
    texts = real_scrapes(4)
    for k, text in enumerate(texts):
        for name, inside, value in SAMPLE.findall(text):
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', inside))
            server.add(
                name, {**labels, "instance": "localhost:9100", "job": "node"}, T0_MS + 1000 * k, float(value)
            )
    recording = imported(tmp_path, server.url)
    said = [float(x) for x in re.findall(r"^node_forks_total (\S+)$", "".join(texts), re.MULTILINE)]
    assert [f for (f,) in rows(recording, "SELECT forks FROM system ORDER BY time_ns")] == said
    devices = set(re.findall(r'^node_disk_reads_completed_total\{device="([^"]+)"', texts[0], re.MULTILINE))
    found = rows(recording, "SELECT DISTINCT device FROM device WHERE device_kind <> 'network'")
    assert {d for (d,) in found} == devices


def test_every_importer_stands_in_the_table() -> None:
    assert {"prometheus", "openmetrics", "remote-read", "csv"} <= {i.name for i in IMPORTERS}
