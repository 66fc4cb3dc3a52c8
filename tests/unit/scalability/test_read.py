"""Tables as load tests print them, and what is no table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from satline.errors import InputError
from satline.scalability import Table, read_table


def table(path: Path, text: str | bytes, **columns: str) -> Table:
    file = path / "t.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(file, **columns)


@pytest.mark.parametrize(
    ("heads", "unit"),
    [
        ("N,X,R", "as in column X"),
        ("users,throughput,response", "as in column throughput"),
        ("VUs,req/s,latency", "per second"),
        ("threads,TPS,avg", "per second"),
        ("concurrency,Requests per second,mean response time", "per second"),
        ("Clients,ops_per_sec,Latency mean", "per second"),
        ("User Count,Requests/s,Total Average Response Time", "per second"),
        ("processors,qps,rt", "per second"),
        ("load,RPS,average", "per second"),
    ],
)
def test_names_that_load_tests_use_are_recognised(heads: str, unit: str, tmp_path: Path) -> None:
    found = table(tmp_path, f"{heads}\n1,10,0.05\n2,19,0.06\n")
    assert found.load.tolist() == [1, 2]
    assert found.throughput.tolist() == [10, 19]
    assert found.response_s is not None
    assert found.response_s.tolist() == [0.05, 0.06]
    assert found.unit == unit


def test_columns_may_lie_in_any_order_among_others(tmp_path: Path) -> None:
    text = "date,p95 (ms),avg (ms),requests,req/min,errors,threads\nmon,90,50,600,600,0,4\n"
    found = table(tmp_path, text)
    assert (found.load[0], found.throughput[0], found.load_name) == (4, 10, "threads")
    assert found.response_s is not None
    assert found.response_s[0] == pytest.approx(0.05)


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "stage,done,wait_ms\n1,10,50\n2,20,60\n"
    found = table(tmp_path, text, users="stage", throughput="DONE", response="wait_ms")
    assert found.throughput.tolist() == [10, 20]
    assert found.response_s is not None
    assert found.response_s.tolist() == pytest.approx([0.05, 0.06])


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffsep=;\nN;X\n1;1.234,5\n2;2.345,5\n",
        "# a comment\nN\tX\n1\t1234,5\n\n# another\n2\t2345,5\n",
        "N;X;\r\n1;1234,5;\r\n2;2345,5;\r\n",
        'N,X\n1,"1,234.5"\n2,"2,345.5"\n',
        "N,X\n1,1.2345k\n2,2.3455k\n",
        "1,1234.5\n2,2345.5\n",
        "N,X\n0,0\n1,1234.5\n,7\n2,2345.5\n3,\n4,NaN\n5,n/a\n".replace("\n", "\r"),
    ],
)
def test_separators_marks_and_decimal_commas(text: str, tmp_path: Path) -> None:
    found = table(tmp_path, text)
    assert found.load.tolist() == [1, 2]
    assert found.throughput.tolist() == pytest.approx([1234.5, 2345.5])


def test_utf_16_of_spreadsheets_is_read(tmp_path: Path) -> None:
    assert table(tmp_path, "N\tX\n1\t10\n".encode("utf-16")).throughput.tolist() == [10]


def test_rows_left_out_are_said(tmp_path: Path) -> None:
    notes = table(tmp_path, "N,X\n0,0\n1,10\n2,\nNaN,4\n").notes
    assert notes == ("2 rows without load or throughput left out", "1 row without load left out")


def test_a_response_without_unit_is_in_the_one_that_littles_law_allows(tmp_path: Path) -> None:
    found = table(tmp_path, "N,X,R\n1,9.9,90\n10,50,180\n")
    assert found.response_s is not None
    assert found.response_s.tolist() == pytest.approx([0.09, 0.18])
    assert any("taken as ms" in note for note in found.notes)
    in_cells = table(tmp_path, "N,X,R\n1,9.9,90ms\n10,50,1.8 s\n")
    assert in_cells.response_s is not None
    assert in_cells.response_s.tolist() == pytest.approx([0.09, 1.8])


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "empty", "N,X,R"),
        ("# only this\n", "empty", "N,X,R"),
        ("N,X\n", "no row", "whole"),
        ("a,b\n1,2\n", "line 1: no column is recognised as the load; there are a, b", "--users COLUMN"),
        ("N,b\n1,2\n", "no column is recognised as throughput", "--throughput COLUMN"),
        ("N,tps,rps\n1,2,3\n", "tps and rps may each be", "--throughput COLUMN"),
        ("N,X\n1,2\n2,fast\n", "line 3, column X: 'fast' is no number", "empty"),
        ("N,X\n1,2\n# c\n-2,3\n", "line 4, column N: -2 is below 0", "0 or more"),
        ("N,X\n0,3\n", "line 2, column N: throughput without load", "--users"),
        ("N,X\n1,1e999\n", "line 2, column X: '1e999' is too large", "empty"),
        ("N,X\n1,1e300\n", "line 2, column X: '1e300' is beyond 1e+15", "column"),
        ("N,X\n1,1_0\n", "line 2, column X: '1_0' is no number", "empty"),
        ("N,X\n1,9,5\n", "line 2: 3 fields where the first line has 2", "decimal comma"),
        ("N;X\n1\n", "line 2: 1 fields", "quoted"),
        (b"N,X\n1,\x002\n", "zero bytes", "CSV"),
        ("1,2,3,4\n", "line 1: no column names", "N,X,R"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    text: str | bytes, said: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        table(tmp_path, text)
    assert said in error.value.message
    assert str(tmp_path / "t.csv") in error.value.message
    assert hint in error.value.hint


def test_a_column_that_is_not_there_is_told_with_one_that_is_close(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such column") as error:
        table(tmp_path, "users,tput\n1,2\n", throughput="tputt")
    assert error.value.hint == "did you mean tput?"
    with pytest.raises(InputError, match="2 columns of this name"):
        table(tmp_path, "users,a,a\n1,2,3\n", throughput="a")


def test_random_bytes_are_data(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    for _ in range(300):
        content = bytes(random.choice(list(b'NX,;\t\n\r"#0159.-eE \xff\xc3\x28na'), size=40).tolist())
        with pytest.raises(InputError):
            table(tmp_path, b"N,X\n" + content + b"\n1,x\n")


def test_a_hundred_thousand_rows_are_read(tmp_path: Path) -> None:
    rows = "\n".join(f"{1 + k % 50},{10 + k % 7}" for k in range(100_000))
    assert len(table(tmp_path, "N,X\n" + rows).load) == 100_000
