"""`satline recording join`: what it says, and that the requests are in the analyses afterwards."""

import json
from pathlib import Path

import pytest

from satline.cli import run
from satline.recording import RecordingWriter, describe

S = 10**9
BEGIN = 1_795_424_400 * S


def test_requests_become_throughput_and_response(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.satline"
    describe.create(path, "satline-monitor")
    with RecordingWriter(path, "monitor") as writer:
        writer.write_rows(
            "system",
            [{"time_ns": BEGIN + n * S, "monotonic_ns": (1000 + n) * S, "run": 1} for n in range(301)],
        )
    log = tmp_path / "log.csv"
    # Two requests begin each second, and take half a second each.
    log.write_text("t,s\n" + "".join(f"{(BEGIN + n * S // 2) / 1e9},0.5\n" for n in range(600)))
    mapping = tmp_path / "m.toml"
    mapping.write_text(
        '[time]\ncolumn = "t"\nformat = "unix_s"\n'
        '[transaction]\ntime_is = "begin"\nresponse_column = "s"\nunit = "s"\n'
    )
    words = ["join", str(path), str(log), "--mapping", str(mapping)]
    assert run([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["requests"], told["left_out"], told["users"]) == (600, 0, None)
    assert run(words) == 2
    assert "is joined already" in capsys.readouterr().err
    assert run([*words, "--anew"]) == 0
    assert "600 requests joined" in capsys.readouterr().out
    asked = ["--load", "requests", "--variables", "transaction_rate,response", "--json"]
    assert run(["reduce", str(path), *asked]) == 0
    curves = json.loads(capsys.readouterr().out)["curves"]
    (rate,) = (point["mean"] for point in curves["transaction_rate"]["points"] if point["n"])
    (response,) = (point["mean"] for point in curves["response"]["points"] if point["n"])
    assert rate == pytest.approx(2.0, rel=0.02)
    assert response == pytest.approx(0.5, rel=0.01)


def test_names_of_a_log_are_kept_out_of_a_recording_without_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.satline"
    describe.create(path, "satline-monitor")
    describe.update(path, {"pseudonyms": {"key": "0"}})
    (tmp_path / "access.log").write_text("")
    assert run(["join", str(path), str(tmp_path / "access.log"), "--format", "nginx"]) == 2
    assert "has pseudonyms in place of names" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "nginx", "--mapping", "m.toml"], "--mapping does not go with --format nginx"),
        (["--shift", "nan"], "not a number of seconds"),
        (["--timezone", "Mars"], "is no time zone"),
    ],
)
def test_what_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["join", "x.satline", "access.log", *words]) == 2
    assert message in capsys.readouterr().err
