"""`satline report`: on recordings of different richness, in every form."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from satline.cli import run
from satline.present.definition import shipped
from satline.recording import RecordingWriter, describe

pytestmark = pytest.mark.slow

START = 1_700_000_000
HOSTILE = "<script>\x1b[31m"
# One for each way of grouping and each kind of column; the others are printed beside the tables' own tests.
SEVERAL = (
    "processors",
    "response-class",
    "response-mpl",
    "cpu-per-transaction",
    "overview",
    "response-hours",
    "users-work",
    "devices",
    "trade-off",
)
Capture = pytest.CaptureFixture[str]


def at(seconds: float) -> dict[str, int]:
    return {"time_ns": round((START + seconds) * 1e9), "monotonic_ns": round(seconds * 1e9)}


def rows_of(hours: float, *, users: bool, transactions: bool) -> dict[str, list[dict[str, Any]]]:
    """A load that rises and falls; without users it is what sar gives: processors, paging, queue, devices."""
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "device": []}
    rows |= {"user": []} if users else {}
    rows |= {"transaction": []} if transactions else {}
    names = ["anna", "bob", HOSTILE, "a-user-with-a-rather-long-name-of-more-than-forty-eight-letters"]
    total: dict[str, float] = {}

    def add(name: str, amount: float) -> int:
        total[name] = total.get(name, 0.0) + amount
        return round(total[name])

    for k in range(int(hours * 60) + 1):
        t = 60 * k
        load = 6 + 5 * math.sin(k / 40) + (k % 3)
        busy = min(0.95, 0.08 * load) * 60e6
        rows["system"].append(
            {
                **at(t),
                "sample": k,
                "tasks_runnable": round(load),
                "load_average_1": round(100 * load),
                "context_switches": add("switches", 900 * load),
                "swap_in_pages": add("in", load),
                "swap_out_pages": add("out", load),
                "major_faults": add("faults", 2 * load),
                "block_in_bytes": add("read", 40960 * load),
                **({"users_in_queue": round(load / 2), "users_logged_on": 9} if users else {}),
            }
        )
        rows["processor"].append(
            {
                **at(t),
                "processor": "0",
                "user_us": add("user", 0.8 * busy),
                "nice_us": 0,
                "system_us": add("system", 0.2 * busy),
                "irq_us": 0,
                "guest_us": 0,
                "steal_us": 0,
                "idle_us": add("idle", 60e6 - busy - 3e5 * load),
                "iowait_us": add("wait", 3e5 * load),
            }
        )
        for device in ("sda", HOSTILE):
            columns = {
                "reads": 600,
                "writes": 60,
                "read_wait_us": 2e6,
                "write_wait_us": 1e5,
                "busy_us": 1.5e6,
            }
            values = {c: add(device + c, load * v / 10) for c, v in columns.items()}
            rows["device"].append({**at(t), "device": device, "device_kind": "block", **values})
        for number, user in enumerate(names if users else []):
            there = load > 2 * number
            times = {"cpu_us": busy / 4 if there else 0, "run_delay_us": busy / 9, "io_delay_us": 1e4 * load}
            values = {c: add(user + c, v) for c, v in times.items()}
            rows["user"].append({**at(t), "user": user, "processes": 2, **values})
            if transactions and there:
                rows["transaction"] += [
                    {
                        **at(t + 7 * n + number),
                        "user": user,
                        "phase": "work",
                        "class": "edit" if n % 2 else "compile",
                        "outcome": "ok",
                        "response_us": round(2e5 * load),
                        "reaction_us": 20_000,
                        "think_us": 1_000_000,
                        "typing_us": 500_000,
                    }
                    for n in range(5)
                ]
    return rows


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, hours, options in (
        ("rich", 30, {"users": True, "transactions": True}),
        ("users", 12, {"users": True, "transactions": False}),
        ("sar", 24, {"users": False, "transactions": False}),
        ("short", 0.1, {"users": False, "transactions": False}),
    ):
        path = tmp_path_factory.mktemp("made") / f"{name}.satline"
        describe.create(path, "test")
        with RecordingWriter(path, "import") as writer:
            for table, rows in rows_of(hours, **options).items():
                writer.write_rows(table, rows)
        describe.update(path, {"host": {"page_bytes": 4096}})
        describe.end(path, "complete")
        made[name] = path
    return made


@pytest.fixture
def report(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs `satline report …` and gives what it printed."""
    monkeypatch.setenv("COLUMNS", "80")

    def made(*arguments: object, code: int = 0) -> str:
        assert run(["report", *map(str, arguments)]) == code, capsys.readouterr().err
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return made


@pytest.mark.parametrize("richness", ["rich", "users", "sar", "short"])
def test_every_report_fits_a_terminal_whatever_was_recorded(
    recordings: dict[str, Path], report: Callable[..., str], richness: str
) -> None:
    for name in SEVERAL:
        text = report(name, recordings[richness])
        assert max(cell_len(line) for line in text.splitlines()) <= 80, name
        assert "\x1b" not in text, name
        assert "nan" not in text.lower().split(), name


def test_what_a_sar_recording_lacks_is_named_and_never_zero(
    recordings: dict[str, Path], report: Callable[..., str]
) -> None:
    text = " ".join(report("response", recordings["sar"]).split())
    assert "Missing: response time (the recording holds no transactions)." in text
    content = json.loads(report("users", recordings["sar"], "--json"))
    assert content["columns"] == []
    assert {m["label"] for m in content["missing"]} >= {"users running", "users waiting for pages"}


def test_each_class_of_work_has_its_response(recordings: dict[str, Path], report: Callable[..., str]) -> None:
    content = json.loads(report("response-class", recordings["rich"], "--json"))
    assert [column["label"] for column in content["columns"]] == ["compile", "edit"]
    both = json.loads(report("response-class", recordings["rich"], "--json", "--class", "edit"))
    assert [column["label"] for column in both["columns"]] == ["edit"]
    assert all(v["value"] > 0 for v in content["columns"][0]["values"])


def test_the_list_names_every_report(report: Callable[..., str]) -> None:
    text = report("--list")
    for name in shipped():
        assert f"{name} " in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_a_shipped_definition_is_copied_changed_and_used(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        report("--show", "processors").replace('"problem_state"', '"problem_state", label = "useful work"')
    )
    assert "useful work" in report(mine, recordings["sar"])
    mine.write_text('title = "x"\nwhat = "y"\nvariables = [\n  { name = "total_cup" },\n]\n')
    error = report(mine, recordings["sar"], code=2)
    assert f'{mine}:4: variables[1].name: there is no variable "total_cup"' in error
    assert "hint: did you mean total_cpu" in error


def test_csv_and_json_hold_the_same_numbers(recordings: dict[str, Path], report: Callable[..., str]) -> None:
    table = list(csv.DictReader(io.StringIO(report("users-work", recordings["rich"], "--csv"))))
    content = json.loads(report("users-work", recordings["rich"], "--json"))
    first = content["columns"][0]
    values = [float(row["value"]) for row in table if row["label"] == first["label"]]
    assert values == [v["value"] for v in first["values"]]
    assert [row["group"] for row in table][:2] == ["anna", "bob"]
    assert any("\\x1b" in row["group"] for row in table)


def test_a_report_of_parts_is_a_list_in_json(recordings: dict[str, Path], report: Callable[..., str]) -> None:
    content = json.loads(report("against-mpl", recordings["users"], "--json"))
    assert [one["report"] for one in content["reports"]] == [
        "cpu-mpl",
        "io-mpl",
        "paging-mpl",
        "lock-mpl",
        "response-mpl",
    ]
    assert {one["axis"] for one in content["reports"]} == {"in_queue"}


def test_filters_choose_and_are_told(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(report("--show", "users") + '\n[filters]\nexclude_users = ["bob"]\nhours = "0-12"\n')
    content = json.loads(report(mine, recordings["users"], "--json", "--hours", "22-6"))
    assert "bob" not in [group["label"] for group in content["groups"]]
    assert "hours 22-6" in content["selection"]
    assert "without users bob" in content["selection"]
    assert "Only hours 22-6 (UTC)" in " ".join(
        report("users", recordings["users"], "--hours", "22-6").split()
    )


def test_load_is_what_the_user_calls_it(recordings: dict[str, Path], report: Callable[..., str]) -> None:
    content = json.loads(report("processors", recordings["sar"], "--load", "run_queue", "--json"))
    assert content["axis"] == "run_queue"
    error = report("processors", recordings["sar"], "--load", "run_quue", code=2)
    assert "unknown load axis 'run_quue'" in error
    assert "run_queue" in error


def test_pages_and_pictures_are_written(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    page, svg, png = tmp_path / "a.html", tmp_path / "a.svg", tmp_path / "a.png"
    report("users", recordings["rich"], "--html", page, "--svg", svg, "--png", png)
    assert "<script" not in page.read_text()
    assert svg.read_text().startswith("<svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    shown = report("devices", recordings["sar"], "--svg", tmp_path / "d.svg").split()
    assert Path(shown[0]).name == "d-devices.svg"
    assert len(shown) == 3
    assert all(Path(path).is_file() for path in shown)


def test_every_plot_is_written_as_a_file_of_its_own(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    shown = report("processors-activity", recordings["sar"], "--svg", tmp_path / "figures").split()
    names = sorted(Path(path).name for path in shown)
    assert names == sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names[0] == "processors-activity-2.svg"
    drawn = report("wait", recordings["sar"], "--png", tmp_path, "--ppi", 300)
    content = Path(drawn.strip()).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == 5 * 300


def test_plots_of_the_whole_report_are_written_without_its_page(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.satline"
    shutil.copytree(recordings["rich"], copy, ignore=shutil.ignore_patterns("report.html"))
    shown = report(copy, "--svg", tmp_path / "figures").split()
    assert {Path(path) for path in shown} == {*(tmp_path / "figures").iterdir()}
    assert len(shown) > 3
    assert not (copy / "report.html").exists()


def test_states_in_percent_make_a_whole_of_what_the_source_tells(
    recordings: dict[str, Path], report: Callable[..., str]
) -> None:
    content = json.loads(report("states-percent", recordings["users"], "--json"))
    parts = [c for c in content["columns"] if c["unit"] == "fraction"]
    assert [c["label"] for c in parts] == [
        "running",
        "waiting for a processor",
        "waiting for pages",
        "waiting for I/O",
    ]
    for cells in zip(*(c["values"] for c in parts), strict=True):
        assert sum(cell["value"] for cell in cells) == pytest.approx(1)
    assert "console function" in [m["label"] for m in content["missing"]]


def test_rates_of_the_classes_add_up_to_that_of_all(
    recordings: dict[str, Path], report: Callable[..., str]
) -> None:
    content = json.loads(report("transactions-time", recordings["rich"], "--json"))
    rates = {
        c["label"]: [v["value"] for v in c["values"]] for c in content["columns"] if c["statistic"] == "rate"
    }
    assert set(rates) == {"all transactions", "edit", "compile"}
    for k, total in enumerate(rates["all transactions"]):
        assert rates["edit"][k] + rates["compile"][k] == pytest.approx(total)
    assert {m["label"] for m in content["missing"]} >= {"interactive (ended in Q1)", "not interactive"}


def test_a_place_that_cannot_be_written_is_wrong_input(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    error = report("users", recordings["rich"], "--svg", tmp_path / "no" / "a.svg", code=2)
    assert "cannot write" in error
    assert "hint:" in error


def test_without_a_name_it_is_the_whole_report(
    recordings: dict[str, Path], report: Callable[..., str], tmp_path: Path
) -> None:
    assert report(recordings["sar"]).strip().endswith("sar.satline/report.html")
    whole = (recordings["sar"] / "report.html").read_text()
    mine = tmp_path / "mine.toml"
    text = report("--show", "diagnosis")
    start, end = text.index("parts = ["), text.index("]") + 1
    mine.write_text(text[:start] + 'parts = ["main-storage", "steals"]' + text[end:])
    report(mine, recordings["sar"], "-o", tmp_path / "mine.html", "--hours", "22-12")
    changed = (tmp_path / "mine.html").read_text()
    assert 'id="plot-processors"' in whole
    assert 'id="plot-processors"' not in changed
    assert 'id="plot-steals"' in changed
    assert "How sure" in changed
    assert "; only hours 22-12 (UTC)" in changed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a recording"),
        (["a", "b", "c"], "name a recording"),
        (["--list", "x.satline"], "take no recording"),
        (["users", "x.satline", "--csv", "--json"], "exclude each other"),
        (["users", "x.satline", "-o", "x.png"], "for x.png see --png"),
        (["users", "x.satline", "--load", "users"], "the report users is by user, not by load"),
        (["processor", "x.satline"], "there is no report processor"),
        (["users", "nowhere.satline"], "nowhere.satline"),
        (["mine.toml", "x.satline"], "mine.toml: No such file"),
    ],
)
def test_wrong_use_is_told(report: Callable[..., str], arguments: list[str], says: str) -> None:
    error = report(*arguments, code=2)
    assert says in error
    assert "hint:" in error


def test_the_whole_report_has_no_other_form(recordings: dict[str, Path], report: Callable[..., str]) -> None:
    error = report(recordings["sar"], "--csv", code=2)
    assert "the whole report is an HTML page" in error
