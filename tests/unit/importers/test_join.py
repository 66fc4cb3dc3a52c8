"""A log of requests joined to a recording: which rows, at what place, and never twice."""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from satline.errors import InputError
from satline.importers import Options
from satline.importers.join import join
from satline.recording import Recording, RecordingWriter, check, compact, describe

S = 10**9
BEGIN = int(datetime(2026, 11, 23, 9, 0, tzinfo=UTC).timestamp()) * S
MAPPING = """[time]
column = "begin"
[transaction]
time_is = "begin"
response_column = "ms"
unit = "ms"
user_column = "who"
class_column = "what"
"""
NGINX = '10.0.0.{n} - {user} [{time}] "GET /{path} HTTP/1.1" {status} 5 "-" "curl \\"x\\"" {last}\n'


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A minute of readings; monotonic time begins at 1000 s, and the real clock is set on by 5 s."""
    path = tmp_path / "x.satline"
    describe.create(path, "satline-monitor")
    with RecordingWriter(path, "monitor") as writer:
        rows = [
            {"time_ns": BEGIN + (n + 5 * (n >= 30)) * S, "monotonic_ns": (1000 + n) * S, "sample": n}
            for n in range(61)
        ]
        writer.write_rows("system", rows)
    return path


def csv(tmp_path: Path, *rows: str, name: str = "log.csv") -> tuple[Path, Options]:
    (tmp_path / name).write_text("begin,ms,who,what\n" + "".join(f"{row}\n" for row in rows))
    (tmp_path / "m.toml").write_text(MAPPING)
    return tmp_path / name, Options(mapping=tmp_path / "m.toml")


def rows_of(path: Path) -> list[tuple[object, ...]]:
    connection = Recording.open(path).connect()
    try:
        return connection.execute(
            'SELECT (monotonic_ns / 1e9)::DOUBLE, response_us, "user", class, outcome FROM transaction'
            " ORDER BY monotonic_ns"
        ).fetchall()
    finally:
        connection.close()


def test_requests_lie_where_the_recording_was_at_their_time(recording: Path, tmp_path: Path) -> None:
    log, options = csv(
        tmp_path,
        "2026-11-23T08:59:59.9Z,5,ann,a",  # before
        "2026-11-23T09:00:10.25Z,1500,ann,a",
        "2026-11-23T09:00:32Z,7,bob,b",  # in the step: between readings 29 and 30
        "2026-11-23T09:00:40Z,,bob,b",  # no answer
        "2026-11-23T09:01:06Z,7,bob,b",  # after
    )
    done = join(recording, [log], "csv", options)
    assert (done.rows, done.left_out, done.users, done.classes) == (3, 2, 2, 2)
    assert rows_of(recording) == [
        (1010.25, 1_500_000, "ann", "a", "ok"),
        (1030.0, 7000, "bob", "b", "ok"),
        (1035.0, None, "bob", "b", "timeout"),
    ]
    said = Recording.open(recording).sources["join"]
    assert said["end_reason"] == "complete"
    assert (said["origin"]["requests"], said["origin"]["left_out"]) == (3, 2)
    assert check(recording).ok


def test_a_log_is_joined_once(recording: Path, tmp_path: Path) -> None:
    log, options = csv(tmp_path, "2026-11-23T09:00:10Z,5,ann,a")
    other, _ = csv(tmp_path, "2026-11-23T09:00:20Z,6,bob,a", name="other.csv")
    join(recording, [log], "csv", options)
    for again in (log, other):
        with pytest.raises(InputError, match="is joined already"):
            join(recording, [again], "csv", options)
    assert len(rows_of(recording)) == 1
    join(recording, [log, other], "csv", options, anew=True)
    assert [row[2] for row in rows_of(recording)] == ["ann", "bob"]
    with pytest.raises(InputError, match="given twice"):
        join(recording, [log, tmp_path / "." / "log.csv"], "csv", options, anew=True)
    with pytest.raises(InputError, match=r"(?i)no such file"):
        join(recording, [tmp_path / "none.csv"], "csv", options, anew=True)
    assert len(rows_of(recording)) == 2, "what was joined stays until the new rows are there"
    compact(recording)
    assert len(rows_of(recording)) == 2


def test_a_join_that_was_cut_is_told(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, options = csv(tmp_path, "2026-11-23T09:00:10Z,5,ann,a")

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("satline.importers.join.write_parquet_table", cut)
        with pytest.raises(KeyboardInterrupt):
            join(recording, [log], "csv", options)
    with pytest.raises(InputError, match="was cut short"):
        join(recording, [log], "csv", options)
    join(recording, [log], "csv", options, anew=True)
    assert len(rows_of(recording)) == 1


def test_a_recording_with_transactions_of_its_own_takes_none(recording: Path, tmp_path: Path) -> None:
    with RecordingWriter(recording, "terminal") as writer:
        writer.write_rows("transaction", [{"time_ns": BEGIN, "monotonic_ns": 1000 * S, "user": "u"}])
    log, options = csv(tmp_path, "2026-11-23T09:00:10Z,5,ann,a")
    with pytest.raises(InputError, match="transactions of its own"):
        join(recording, [log], "csv", options)


def test_a_log_of_another_time_or_zone_is_told(recording: Path, tmp_path: Path) -> None:
    log, options = csv(tmp_path, "2026-11-23 10:00:10,5,ann,a", "2026-11-23 10:00:50,5,ann,a")
    with pytest.raises(InputError, match=r"no request began in its time: .*09:00:00 to .*09:01:05") as told:
        join(recording, [log], "csv", options)
    assert "1 h too late" in told.value.hint
    assert not (recording / "sources/join.toml").exists()
    zoned = Options(mapping=options.mapping, zone=ZoneInfo("Europe/Berlin"))
    assert join(recording, [log], "csv", zoned).rows == 2
    assert join(recording, [log], "csv", options, shift_s=-3600, anew=True).rows == 2
    far, options = csv(tmp_path, "2025-01-01T10:00:10Z,5,ann,a", name="far.csv")
    with pytest.raises(InputError) as told:
        join(recording, [far], "csv", options, anew=True)
    assert "of this time" in told.value.hint


def test_a_recording_without_readings_or_of_overlapping_boots_is_refused(
    recording: Path, tmp_path: Path
) -> None:
    log, options = csv(tmp_path, "2026-11-23T09:00:10Z,5,ann,a")
    with RecordingWriter(recording, "monitor") as writer:
        writer.write_rows("system", [{"time_ns": BEGIN + 900 * S, "monotonic_ns": 1010 * S}])
    with pytest.raises(InputError, match="started again"):
        join(recording, [log], "csv", options)
    empty = tmp_path / "empty.satline"
    describe.create(empty, "satline-monitor")
    with pytest.raises(InputError, match="no readings yet"):
        join(empty, [log], "csv", options)


def test_nginx_and_apache(recording: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log.gz"
    at = "23/Nov/2026:10:00:{:02} +0100"
    lines = [
        NGINX.format(n=1, user="ann", time=at.format(20), path="api/x?q=1", status=200, last="2.000"),
        NGINX.format(n=2, user="-", time=at.format(10), path="", status=500, last="0.250"),
        NGINX.format(n=3, user="-", time=at.format(25), path='a\\"b', status=499, last="-"),
        "hello\n",
        "\x00\x1b[31m" + "x" * 100_000 + "\n",
    ]
    with gzip.open(log, "wt") as file:
        file.writelines(lines)
    done = join(recording, [log], "nginx", Options())
    assert done.damaged == [f"{log}: 2 lines are none of an access log, the first is line 4"]
    assert "to the second" in done.notes[0]
    assert [row[:2] for row in rows_of(recording)] == [
        (1010.25, 250_000),
        (1018.5, 2_000_000),
        (1025.5, None),
    ]
    assert [row[2:] for row in rows_of(recording)] == [
        (None, "GET /", "unexpected"),
        ("ann", "GET /api", "ok"),
        (None, 'GET /a\\"b', "timeout"),
    ]
    apache = tmp_path / "apache.log"
    apache.write_text(NGINX.format(n=1, user="ann", time=at.format(20), path="x", status=404, last="2000000"))
    join(recording, [apache], "apache", Options(), anew=True)
    assert rows_of(recording) == [(1020.5, 2_000_000, "ann", "GET /x", "unexpected")]
    with pytest.raises(InputError, match="no line of an access log of nginx"):
        join(recording, [apache], "nginx", Options(), anew=True)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (None, "what its columns mean is not said"),
        (MAPPING + '[[column]]\nname = "ms"\nto = "system.swap_in_pages"\n', "not that of one log"),
    ],
)
def test_a_csv_needs_a_mapping_of_a_log(
    mapping: str | None, message: str, recording: Path, tmp_path: Path
) -> None:
    log, _ = csv(tmp_path, "2026-11-23T09:00:10Z,5,ann,a")
    file = None
    if mapping is not None:
        file = tmp_path / "m.toml"
        file.write_text(mapping)
    with pytest.raises(InputError, match=message):
        join(recording, [log], "csv", Options(mapping=file))
