"""Parts of the commands that can be looked at by themselves."""

from pathlib import Path

import click
import pytest

from satline import share
from satline.cli.analyse.reduce import curves_content, write_csv
from satline.cli.options import Duration
from satline.cli.record.foreground import status_line
from satline.cli.record.plan import Plan
from satline.cli.record.units import make_units
from satline.errors import InputError, SatlineError
from satline.present.documents import plain
from satline.reduction import Curve, Curves, LoadClass, Point


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("10", 10_000),
        ("500ms", 500),
        ("2.5s", 2500),
        ("5m", 300_000),
        ("5 min", 300_000),
        ("8h", 28_800_000),
        ("7d", 604_800_000),
    ],
)
def test_times(text: str, milliseconds: int) -> None:
    assert Duration().convert(text, None, None) == milliseconds


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "1w", "ms", "0.1ms", "1 2"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time"):
        Duration().convert(text, None, None)


def curves() -> Curves:
    seen = Point(4, 1.5, 0.5, 0.25, None, None, {25: 1.0, 50: 1.5, 75: 2.0, 90: 2.5})
    unseen = Point(0, None, None, None, None, None)
    classes = (LoadClass(1, 2, 1.5, 4, 40.0), LoadClass(3, 4, 3.5, 0, 0.0))
    curve = Curve("total_cpu", "processors", "all of it", (seen, unseen))
    return Curves("users", 10.0, classes, {"total_cpu": curve}, {"page_wait": "not recorded"})


def test_missing_numbers_stay_missing_in_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(curves(), ["total_cpu", "page_wait"])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.startswith("load_low,load_high,load,variable,unit,n,mean,sd,")
    assert first == "1,2,1.5,total_cpu,processors,4,1.5,0.5,0.25,,,1.0,1.5,2.0,2.5,,,,,,,,"
    assert second == "3,4,3.5,total_cpu,processors,0,,,,,,,,,,,,,,,,,"
    content = plain(curves_content(curves(), ["total_cpu", "page_wait"]))
    assert list(content["curves"]) == ["total_cpu"]
    assert content["curves"]["total_cpu"]["points"][1]["mean"] is None
    assert content["missing"] == {"page_wait": "not recorded"}


def test_the_status_line_tells_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(2_500_000))
    assert "1:15, 2.5 MB" in status_line(tmp_path, 75)


@pytest.mark.parametrize("name", ["a b", "a%i", "a;b", 'a"b', "a\nExecStartPre=x"])
def test_no_path_can_write_into_a_unit(name: str) -> None:
    with pytest.raises(InputError, match="unit file"):
        make_units(Plan(Path("/bin/satline-monitor"), Path("/var") / name), Path("/bin/satline"))


def test_shipped_files_are_found() -> None:
    assert (share.path("catalogue") / "variables.toml").is_file()
    assert (share.path("workloads") / "programs/server.py").is_file()
    with pytest.raises(SatlineError, match="holograms"):
        share.path("holograms")


def test_csv_shows_hostile_names_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    name = "device_busy:\x1b]0;gone\x07"
    point = Point(1, 0.5, None, None, None, None, {})
    curve = Curve(name, "fraction", "", (point,))
    write_csv(Curves("users", 1.0, (LoadClass(1, 1, 1, 1, 1.0),), {name: curve}, {}), [name])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "device_busy:\\x1b]0;gone\\x07,fraction,1,0.5,," in shown
