"""A monitor's recording brought home: every row once, on this host's time; nothing else gets in with it."""

import io
import tarfile
from pathlib import Path

import pytest

from satline.errors import SatlineError
from satline.recording import Recording, RecordingWriter, check, describe
from satline.systems.remote import copies
from satline.systems.remote.clocks import Offset, Shift

DAY_NS = 86_400 * 10**9
MIDNIGHT = 20_000 * DAY_NS
SHIFT = Shift(
    Offset(MIDNIGHT, 10**9, 5 * 10**9, -(10**8), 7000),
    Offset(MIDNIGHT + 10**10, 11 * 10**9, 5 * 10**9, -(10**8), 9000),
)


def recorded(path: Path, begin_ns: int) -> None:
    """Ten readings, a second apart."""
    describe.create(path, "satline-monitor", host={"name": "far", "processors": 3})
    with RecordingWriter(path, "monitor") as writer:
        for number in range(10):
            now = {"time_ns": begin_ns + number * 10**9, "monotonic_ns": (number + 1) * 10**9}
            writer.write_rows("system", [{**now, "context_switches": number}])
    describe.write_source(path, "monitor", {"version": "1", "end_reason": "complete"})


@pytest.mark.parametrize("before_midnight_s", [3600, 7, 12])
def test_every_reading_comes_home_once(tmp_path: Path, before_midnight_s: int) -> None:
    recorded(tmp_path / "far", MIDNIGHT - before_midnight_s * 10**9)
    describe.create(tmp_path / "home", "satline study", host={"name": "near"})
    host = copies.take_over(tmp_path / "far", tmp_path / "home", SHIFT, "far, port 22")
    assert host == {"name": "far", "processors": 3}
    report = check(tmp_path / "home")
    assert report.ok, report.problems
    recording = Recording.open(tmp_path / "home")
    assert recording.sources["monitor"]["clock"] == {
        "host": "far, port 22",
        "offset_us": -100_000,
        "time_offset_us": 5_000_000,
        "bound_us": 9,
        "rate_ppm": 0.0,
    }
    connection = recording.connect()
    rows = connection.execute(
        "SELECT time_ns, monotonic_ns, context_switches FROM system ORDER BY monotonic_ns"
    ).fetchall()
    connection.close()
    begin = MIDNIGHT - before_midnight_s * 10**9 + 5 * 10**9
    assert rows == [(begin + n * 10**9, (n + 1) * 10**9 - 10**8, n) for n in range(10)]


def archive(*members: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for member in members:
            made.addfile(member, io.BytesIO(b"x" * member.size))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return info


@pytest.mark.parametrize(
    "data",
    [
        archive(member("../outside")),
        archive(member("link", tarfile.SYMTYPE, "/etc"), member("link/outside")),
        archive(member("device", tarfile.CHRTYPE)),
        b"not an archive",
        archive(member("cut"))[:700],
    ],
)
def test_what_is_no_recording_gets_nowhere(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "tar").write_bytes(data)
    with pytest.raises(SatlineError, match="could not be fetched"):
        copies.unpack(tmp_path / "tar", tmp_path / "in")
    assert not (tmp_path / "outside").exists()
