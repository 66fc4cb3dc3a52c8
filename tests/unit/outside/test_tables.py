"""Tables and archives from outside: limits, and one kind of error."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satline.outside import (
    BombError,
    BrokenTableError,
    parquet_columns,
    read_csv,
    read_parquet,
    unpack_tar,
)


def test_a_parquet_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None], "n": [[1], [2]]}), file)
    assert parquet_columns(file) == ["a", "b"]
    assert read_parquet(file, ["b"]).to_pydict() == {"b": ["x", None]}


def test_a_small_file_of_too_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": pa.array([7] * 1_000_000, pa.int64())}), file)
    assert read_parquet(file).num_rows == 1_000_000
    assert 300 * file.stat().st_size < 8_000_000
    monkeypatch.setattr("satline.outside._tables._FREE", 0)
    monkeypatch.setattr("satline.outside._tables._RATIO", 300)
    with pytest.raises(BrokenTableError, match="1,000,000 rows of 1 columns"):
        read_parquet(file)


def test_damaged_parquet_raises_one_kind_of_error(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": list(range(500)), "b": [str(n) for n in range(500)]}), file)
    whole = file.read_bytes()
    draw = random.Random(5)
    refused = 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        file.write_bytes(damaged[: draw.choice((None, draw.randrange(len(whole))))])
        try:
            read_parquet(file)
        except BrokenTableError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("content", [b"", b"a\xff\n1\n", b"a,b\n1,2,3\n"])
def test_broken_csv_raises_one_kind_of_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    with pytest.raises(BrokenTableError, match=r"^.+\Z"):
        read_csv(file)


def test_csv_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a\n" + b"1\n" * 1000)
    monkeypatch.setattr("satline.outside._tables.largest_bytes", lambda: 3000)
    with pytest.raises(BrokenTableError, match="do not fit"):
        read_csv(file)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    for read in (read_csv, read_parquet, parquet_columns):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")


def _tar(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)) if member.isfile() else None)
    return path


def _member(name: str, size: int = 3, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, target
    return member


def test_a_tar_archive_is_unpacked(tmp_path: Path) -> None:
    unpack_tar(_tar(tmp_path / "a.tar", _member("a/b")), tmp_path / "out")
    assert (tmp_path / "out" / "a" / "b").read_bytes() == bytes(3)


@pytest.mark.parametrize(
    "member",
    [
        _member("../b"),
        _member("link", 0, tarfile.SYMTYPE, "/etc"),
        _member("hard", 0, tarfile.LNKTYPE, "/etc/passwd"),
        _member("device", 0, tarfile.CHRTYPE),
        _member("pipe", 0, tarfile.FIFOTYPE),
    ],
)
def test_anything_else_in_a_tar_archive_is_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    out = tmp_path / "in" / "out"
    with pytest.raises(tarfile.TarError):
        unpack_tar(_tar(tmp_path / "a.tar", member), out)
    assert not out.exists() or not list(out.iterdir())


def test_a_tar_archive_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satline.outside._unpack.MAX_TAR_FILES", 3)
    with pytest.raises(BombError, match="more than 3 files"):
        unpack_tar(_tar(tmp_path / "a.tar", *(_member(f"f{n}") for n in range(4))), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tar_archive_that_states_more_than_it_has_is_refused(tmp_path: Path) -> None:
    header = _member("sparse", 1 << 40).tobuf(tarfile.GNU_FORMAT)
    file = tmp_path / "a.tar"
    file.write_bytes(header + bytes(1024))
    with pytest.raises((BombError, tarfile.TarError)):
        unpack_tar(file, tmp_path / "out")
