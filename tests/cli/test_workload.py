"""`satline workload`: from a recorded session to a load that emulated users really type."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from satline import share
from satline.cli import run
from satline.errors import SatlineError
from satline.systems.binaries import find_binary
from satline.workload import compare, draws_of_recording, read_blocks, shares

TREE = Path(__file__).resolve().parents[2]
CLASSES = 9


def emulator() -> Path | None:
    try:
        return find_binary("satline-terminal")
    except SatlineError:
        return None


pytestmark = pytest.mark.skipif(emulator() is None, reason="satline-terminal is not built")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def mark(what: str) -> str:
    return f"\x1b]133;{what}\x07"


def make_cast(name: str, commands: list[str], think_s: float = 0.2) -> None:
    """An asciicast of these commands, a second each."""
    prompt = mark("A") + "$ " + mark("B")
    lines = ['{"version": 2, "width": 80, "height": 24}', json.dumps([0, "o", prompt])]
    now = 0.0
    for command in commands:
        now += think_s
        for key in command + "\r":
            now += 0.02
            lines.append(json.dumps([now, "i", key]))
            lines.append(json.dumps([now, "o", "\r\n" if key == "\r" else key]))
        now += 1.0
        lines.append(json.dumps([now, "o", mark("C") + "done\r\n" + mark("D;0") + prompt]))
    Path(name).write_text("\n".join(lines) + "\n")


def emulate(workload: Path, recording: Path, users: int, window: str) -> None:
    program = emulator()
    assert program is not None
    command = [str(program), "run", "--workload", str(workload), "--recording", str(recording)]
    command += ["--steps", str(users), "--ramp", "1s", "--warmup", "0s", "--window", window]
    command += [
        "--env",
        f"SATLINE_SHARE={share.path('workloads')}",
        "--env",
        f"SATLINE_PYTHON={sys.executable}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_from_a_session_to_a_load_of_any_number(capsys: pytest.CaptureFixture[str]) -> None:
    make_cast("me.cast", ["echo {user}", "true a", "echo {pick:a|b}", "true b", "exit"] * 10)
    assert run(["workload", "import-session", "me.cast"]) == 0
    shown = capsys.readouterr().out
    assert "me.session.json: 50 lines" in shown
    assert "mean think 0.22 s" in shown
    assert "10 × exit: ends the shell" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert len(tomllib.loads(Path("me.workload.toml").read_text())["script"][0]["command"]) == 40
    assert run(["workload", "fit", "me.session.json"]) == 0
    shown = capsys.readouterr().out
    assert "order: 2" in shown or "order: 1" in shown
    assert run(["workload", "generate", "me.blocks.toml", "--users", "7", "-o", "w.toml", "--json"]) in (0, 1)
    content = json.loads(capsys.readouterr().out)
    assert content["tests"]
    assert "exit: no input" in " ".join(content["remarks"])
    assert Path("w.toml").stat().st_mode & 0o077 == 0


def test_what_was_recorded_is_typed_by_the_emulator(capsys: pytest.CaptureFixture[str]) -> None:
    """Braces too, which the emulator would take for places of its own."""
    make_cast("me.cast", ["echo '{user} {pick:a|b}'", "true"])
    assert run(["workload", "import-session", "me.cast"]) == 0
    text = Path("me.workload.toml").read_text()
    expect = "expect = '^\\{user\\} \\{pick:a\\|b\\}'"
    Path("w.toml").write_text(text.replace('class = "echo"', f'class = "echo"\n{expect}'))
    emulate(Path("w.toml"), Path("w.satline"), 2, "3s")
    draws = draws_of_recording(Path("w.satline"))
    assert draws.klass.count("echo") > 2
    from satline.recording import Recording

    connection = Recording.open("w.satline").connect()
    outcomes = connection.execute(
        "SELECT DISTINCT outcome FROM \"transaction\" WHERE class = 'echo'"
    ).fetchall()
    connection.close()
    assert set(outcomes) <= {("ok",), ("cut",)}
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import-session", "none.cast"], "No such file"),
        (["import-session", "bad.cast"], "bad.cast:1: neither"),
        (["fit", "bad.cast"], "bad.cast is not text"),
        (["fit", "few.toml"], "few.toml: not JSON"),
        (["generate", "bad.cast", "--users", "2", "-o", "w.toml"], "bad.cast is not text"),
        (["generate", "few.toml", "--users", "2", "-o", "w.toml"], "add up to 0.5"),
        (["compare", "few.toml", "none.satline"], "few.toml"),
        (["import-session", "a.cast", "b.cast", "--session", "x"], "--session names one"),
    ],
)
def test_wrong_input_is_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.cast").write_bytes(b"\x00\xff\x1b[31m")
    Path("few.toml").write_text(
        'name = "x"\n[think]\ndistribution = "fixed"\nmean_seconds = 1\n[[class]]\nname = "a"\nshare = 0.5\n'
    )
    assert run(["workload", *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "hint: " in shown
    assert "\x1b" not in shown


def test_the_benchmark_s_lines_are_1000_in_the_published_mix() -> None:
    content = tomllib.loads((share.path("workloads") / "benchmark-32.toml").read_text())
    names = [command["class"] for script in content["script"] for command in script["command"]]
    assert (len(content["script"]), len(names)) == (32, 1000)
    blocks = read_blocks(share.path("workloads") / "blocks/benchmark-32.toml")
    assert len(blocks.klass) == CLASSES
    for one in blocks.klass:
        assert names.count(one.name) == pytest.approx(one.share * 1000)
    made = subprocess.run(
        [sys.executable, share.path("workloads") / "programs/make_benchmark_32.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == (share.path("workloads") / "benchmark-32.toml").read_text()


@pytest.mark.slow
@pytest.mark.system
def test_a_run_of_the_benchmark_has_the_published_mix_and_lengths(tmp_path: Path) -> None:
    """32 users at a hundredth of the think time: the recording's lines against what is published."""

    def scaled(text: str) -> str:
        return text.replace("mean_seconds = 12.0", "mean_seconds = 0.12").replace(
            "characters_per_second = 2.5", "characters_per_second = 250.0"
        )

    shipped = share.path("workloads")
    (tmp_path / "w.toml").write_text(scaled((shipped / "benchmark-32.toml").read_text()))
    (tmp_path / "b.toml").write_text(scaled((shipped / "blocks/benchmark-32.toml").read_text()))
    emulate(tmp_path / "w.toml", tmp_path / "w.satline", 32, "20s")
    draws = draws_of_recording(tmp_path / "w.satline")
    blocks = read_blocks(tmp_path / "b.toml")
    assert len(draws.klass) > 500
    for name, stated, drawn, count in shares(blocks, draws):
        assert stated is not None, name
        # 2 percentage points: sessions are cut at the end, so that what stands at their beginning is more.
        assert drawn == pytest.approx(stated, abs=0.02), (name, count)
    tests = {test.what: test for test in compare(blocks, draws)}
    assert tests["characters of a line"].drawn == pytest.approx(10, rel=0.05)
    assert tests["bytes of an answer"].drawn == pytest.approx(75, rel=0.1)
    assert tests["think time, exponential"].verdict == "agrees"
