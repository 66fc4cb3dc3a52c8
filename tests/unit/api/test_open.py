"""`satline.open`: recordings, imports and where they are kept, and what is refused."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_server import Prometheus, serving
from scrapes import T0_MS, made_scrape

import satline
from satline import api

SAR = """\
Linux 6.1.0 (drum) \t2026-11-21 \t_x86_64_\t(2 CPU)

10:00:00        CPU     %usr     %nice      %sys   %iowait    %steal     %idle
10:10:00        all    20.00      0.00      5.00      1.00      0.00     74.00
10:20:00        all    30.00      0.00      5.00      1.00      0.00     64.00
10:30:00        all    35.00      0.00      5.00      1.00      0.00     59.00
"""


@pytest.fixture
def sar(tmp_path: Path) -> Path:
    path = tmp_path / "sar.txt"
    path.write_text(SAR)
    return path


def test_to_import_satline_loads_neither_duckdb_nor_altair() -> None:
    heavy = ("duckdb", "altair", "numpy", "pyarrow", "satline.api")
    code = f"import sys, satline; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had_and_no_other() -> None:
    for name in satline.__all__:
        assert getattr(satline, name) is not None
    assert satline.open is api.open_recording
    assert set(satline.__all__) <= set(dir(satline))
    with pytest.raises(AttributeError, match="no attribute 'opens'"):
        satline.opens  # noqa: B018


def test_a_recording_is_opened_where_it_is(weeks: tuple[Path, Path]) -> None:
    opened = satline.open(weeks[0])
    assert opened.path == weeks[0]
    assert not opened.temporary
    opened.close()
    assert (weeks[0] / "recording.toml").exists()


def test_an_import_is_temporary_and_says_so(sar: Path) -> None:
    opened = satline.open(sar, timezone="UTC")
    assert "temporary" in repr(opened)
    assert str(sar) in repr(opened)
    place = opened.path
    table = opened.table("system")
    del opened
    gc.collect()
    assert len(table) == 4, "a table keeps what it reads from"
    del table
    gc.collect()
    assert not place.exists()


def test_an_import_ends_with_its_block(sar: Path) -> None:
    with satline.open(sar) as opened:
        assert opened.path.exists()
    assert not opened.path.exists()


def test_an_import_may_be_kept(sar: Path, tmp_path: Path) -> None:
    parts: list[float] = []
    opened = satline.open(sar, into=tmp_path / "kept.satline", format="sar-text", progress=parts.append)
    assert not opened.temporary
    opened.close()
    assert satline.open(tmp_path / "kept.satline").table("system").to_arrow().num_rows == 4


def test_a_prometheus_server_is_read_by_its_url() -> None:
    with serving(Prometheus()) as server:
        for k in range(10):
            time_ms = T0_MS + 15_000 * k
            samples = made_scrape(time_ms / 1000, 10.0 * (k + 1), node="web1")
            server.scrape(time_ms, samples, instance="10.0.0.1:9100", job="node")
        start = datetime.fromtimestamp(T0_MS / 1000 - 60, UTC)
        opened = satline.open(server.url, start=start, end=start + timedelta(minutes=10))
    assert len(opened.table("system")) == 10
    assert server.url in repr(opened)


@pytest.mark.parametrize(
    ("source", "options", "message", "hint"),
    [
        ("nowhere.satline", {}, "no such recording or file", "NAME.satline"),
        ("ftp://127.0.0.1/day.xz", {}, "nothing is read from such a URL", "download"),
        ("http://127.0.0.1:9/day.xz", {}, "cannot be asked", "only a Prometheus server is read; download"),
        ("text.bin", {}, "neither a recording nor an archive", "format="),
        ("text.bin", {"format": "sa"}, "format='sa'", "sysstat"),
        ("text.bin", {"timezone": "Mars/Utopia"}, "no time zone", "Europe/Berlin"),
    ],
)
def test_what_cannot_be_opened_is_said_with_a_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    options: dict[str, str | None],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.bin").write_bytes(bytes(range(256)) * 4)
    with pytest.raises(satline.InputError) as caught:
        satline.open(source, **options)  # type: ignore[arg-type]
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert any(hint in note for note in caught.value.__notes__), "a notebook's traceback shows the hint"


def test_options_of_an_import_are_refused_for_a_recording(weeks: tuple[Path, Path]) -> None:
    with pytest.raises(satline.InputError, match="is a recording already: host, into"):
        satline.open(weeks[0], host="drum", into="x.satline")
