"""Where a study's users' lines lead, and what it takes to drive another host."""

from pathlib import Path

import pytest

from satline.errors import InputError
from satline.experiment.emulator import command_line
from satline.experiment.feasibility import check_feasible
from satline.experiment.study import read_study
from satline.systems import Conditions

STUDY = """title = "t"
workload = "w.toml"
[load]
users = [1, 2]
"""
WORKLOAD = """name = "w"
shell = ["no-such-shell"]
prompt = { pattern = "> " }
[[script]]
name = "s"
[[script.command]]
class = "c"
input = "x"
"""


def study_file(tmp_path: Path, more: str, workload: str = WORKLOAD) -> Path:
    (tmp_path / "w.toml").write_text(workload)
    path = tmp_path / "study.toml"
    path.write_text(STUDY + more)
    return path


def test_the_line_and_the_list_reach_the_emulator(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text("")
    study = read_study(study_file(tmp_path, 'line = "telnet:[::1]:2323"\nallow = "hosts.toml"\n'))
    conditions = Conditions(data=tmp_path, users=tmp_path, users_file=tmp_path / "users.tsv")
    made = command_line(Path("emulator"), study.workload, tmp_path / "r", study.file.load, conditions)
    assert made[made.index("--line") + 1] == "telnet:[::1]:2323"
    assert made[made.index("--allow") + 1] == str(tmp_path / "hosts.toml")
    plain = read_study(study_file(tmp_path, ""))
    made = command_line(Path("emulator"), plain.workload, tmp_path / "r", plain.file.load, conditions)
    assert "--line" not in made
    assert "--allow" not in made


@pytest.mark.parametrize(
    "line", ["pty", "tls:host:853", "https://host", "https://[::1]:8443/", "http://host:80"]
)
def test_lines_are_known(tmp_path: Path, line: str) -> None:
    assert read_study(study_file(tmp_path, f'line = "{line}"\n')).file.load.line == line


@pytest.mark.parametrize(
    "line",
    [
        "ssh:a@b@c:22",
        "tcp:host",
        "tcp:::1:9",
        "tcp:a b:9",
        "",
        "tls:host",
        "https://host/x",
        "https://::1",
        "http://h",
    ],
)
def test_what_is_no_line_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"study\.toml:5: load\.line: .*is no line") as caught:
        read_study(study_file(tmp_path, f'line = "{line}"\n'))
    assert "telnet:HOST:PORT" in caught.value.hint


def test_only_a_pty_needs_the_shell(tmp_path: Path) -> None:
    check_feasible(read_study(study_file(tmp_path, 'line = "tcp:127.0.0.1:7"\n')), tmp_path)
    with_line = WORKLOAD.replace("[[script]]", 'line = { to = "tcp:127.0.0.1:7" }\n[[script]]', 1)
    check_feasible(read_study(study_file(tmp_path, "", with_line)), tmp_path)
    for more, workload in [("", WORKLOAD), ('line = "pty"\n', with_line)]:
        with pytest.raises(InputError, match="no-such-shell"):
            check_feasible(read_study(study_file(tmp_path, more, workload)), tmp_path)


def test_a_list_that_is_not_there_is_named(tmp_path: Path) -> None:
    study = read_study(study_file(tmp_path, 'line = "tcp:192.0.2.1:7"\nallow = "hosts.toml"\n'))
    with pytest.raises(InputError, match=r"study\.toml:6: load\.allow: .*hosts\.toml") as caught:
        check_feasible(study, tmp_path)
    assert "satline-terminal allow" in caught.value.hint
