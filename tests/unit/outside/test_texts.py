"""Texts from outside: what is hostile is an error of the format, and of no other kind."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.outside import (
    MAX_DEPTH,
    BombError,
    TextTooLargeError,
    bounded,
    parse_json,
    parse_toml,
    read_text,
)

DEEP = MAX_DEPTH + 1


@pytest.mark.parametrize(
    "text",
    [
        "a=" + "[" * 20000 + "]" * 20000,
        "a=" + "[" * DEEP + "]" * DEEP,
        "a=" + "{b=" * 5000 + "1" + "}" * 5000,
        "a=" + "1" * 5000,
        "a=-" + "9" * 100_000,
        "a." * 200_000 + "b=1",
        "[" + "a." * 100_000 + "b]",
        "\n".join(f"[{'a.' * 70}x{n}]" for n in range(100)),
        "a=1979-99-99",
        "a=" + '"' * 100_001,
        "\0",
    ],
)
def test_hostile_toml_is_no_toml(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        parse_toml(text)


def test_what_only_looks_hostile_is_read() -> None:
    dotted = ".".join("abc" for _ in range(200))
    text = f'# {dotted}\na = \'{dotted}\'\nb = """\n{dotted}"""\nc = {"[" * 60}{"]" * 60}\n'
    assert parse_toml(text)["a"] == dotted
    assert parse_toml("[a.b.c]\nd.e = 1") == {"a": {"b": {"c": {"d": {"e": 1}}}}}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * 100_000,
        "1" * 5000,
        b"\xff\xfe\x00",
        "{",
        '"\\ud800',
        "",
    ],
)
def test_hostile_json_is_no_json(text: str | bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_json(text)


@given(st.text() | st.binary())
def test_no_text_raises_anything_else(text: str | bytes) -> None:
    with contextlib.suppress(json.JSONDecodeError):
        parse_json(text)
    if isinstance(text, str):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            parse_toml(text)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=20))
def test_json_means_what_it_means_elsewhere(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


def test_a_text_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"a" * 101)
    with pytest.raises(TextTooLargeError):
        read_text(file, max_bytes=100)
    assert read_text(file, max_bytes=101) == "a" * 101


def test_what_unpacks_to_too_much_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satline.outside._unpack._FREE", 1000)
    packed = gzip.compress(bytes(10_000_000))
    with gzip.open(io.BytesIO(packed)) as stream, pytest.raises(BombError):
        bounded(stream, 100).read()
    with gzip.open(io.BytesIO(packed)) as stream:
        assert len(bounded(stream, len(packed)).read()) == 10_000_000
