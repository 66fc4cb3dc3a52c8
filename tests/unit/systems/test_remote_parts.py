"""What a run on another host is put together from: leave, commands, the agent's requests, the bundle."""

import io
import json
import os
import queue
import secrets
import subprocess
import sys
import tarfile
import threading
from datetime import date
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.systems.janitor import python_environment
from satline.systems.remote import RemoteSettings, user_shell
from satline.systems.remote.agent import Agent, serve
from satline.systems.remote.connection import Connection
from satline.systems.remote.copies import make_bundle
from satline.systems.remote.host import judge_leave, known_variables
from satline.systems.this_host import ThisHost

LEAVE = "max_users = 10\nmax_rate = 50\nmax_seconds = 60\nuntil = 2026-11-22\n"
TODAY = date(2026, 11, 22)


def test_leave_is_given_within_its_bounds() -> None:
    assert judge_leave(LEAVE, 10, 60, TODAY) == ""


@pytest.mark.parametrize(
    ("text", "users", "seconds", "today", "why"),
    [
        ("", 1, 1, TODAY, "no allow-load"),
        ("\n \n", 1, 1, TODAY, "no allow-load"),
        (LEAVE, 11, 1, TODAY, "11 users, its allow-load allows 10"),
        (LEAVE, 1, 61, TODAY, "61 seconds"),
        (LEAVE, 1, 1, date(2026, 11, 23), "ended on 2026-11-22"),
        ("yes", 1, 1, TODAY, "cannot be read"),
        ("max_users = true\nuntil = 2030-01-01", 1, 1, TODAY, "does not say max_users"),
        ("max_users = 5", 1, 1, TODAY, "until which day"),
        ("max_users = 5\nuntil = 2030-01-01", 1, 1, TODAY, "max_seconds and max_rate"),
        ('max_users = 5\nuntil = "2030-01-01"', 1, 1, TODAY, "until which day"),
    ],
)
def test_leave_is_refused(text: str, users: int, seconds: float, today: date, why: str) -> None:
    assert why in judge_leave(text, users, seconds, today)


def test_another_host_cannot_name_variables_that_programs_here_heed() -> None:
    told = {"SATLINE_DATA": "/d", "LD_PRELOAD": "/evil", "SATLINE_BIN_DIR": "/evil", "BASH_ENV": "/evil"}
    assert known_variables(told) == {"SATLINE_DATA": "/d"}


def test_the_hosts_key_is_always_checked_and_nothing_is_asked() -> None:
    words = RemoteSettings("me@far", 2222, Path("/k"), Path("/h")).client()
    assert words[0] == "ssh"
    for option in ("StrictHostKeyChecking=yes", "BatchMode=yes", "UserKnownHostsFile=/h"):
        assert option in words
    assert words[words.index("-p") + 1] == "2222"


def test_further_options_cannot_switch_the_check_off() -> None:
    # The first value that ssh reads is the one that counts.
    words = RemoteSettings("far", options=("StrictHostKeyChecking=no",)).client()
    assert words.index("StrictHostKeyChecking=yes") < words.index("StrictHostKeyChecking=no")


def test_a_host_that_is_not_there_is_told(tmp_path: Path) -> None:
    connection = Connection(RemoteSettings("127.0.0.1", port=1, config=False), tmp_path, 0, {})
    if len(str(tmp_path)) > 80:
        pytest.skip("the directory's name is too long for a socket")
    with pytest.raises(InputError, match="cannot be reached over SSH") as caught:
        connection.open()
    assert "SSH server" in caught.value.hint


def test_a_socket_with_a_long_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too long a name"):
        Connection(RemoteSettings("far"), tmp_path / ("x" * 100), 0, {}).open()


def test_a_users_line_runs_its_shell_there_through_the_way_in(tmp_path: Path) -> None:
    parameters = {
        "clients": [["ssh0"], ["ssh1"]],
        "enter": "/there/enter",
        "users": "/there/users",
        "environment": {"SATLINE_DATA": "/there/data"},
    }
    environment = {"SATLINE_USER": "user-007", "SATLINE_DATA": "/here", "PS1": "it's $ \\e[", "HOME": "/here"}
    words = user_shell.client(parameters, environment, ["printf", "%s|", "a b", "it's", "$HOME"])
    assert words[0] == "ssh1"
    # What ssh hands to the account's shell comes out as it went in.
    enter = tmp_path / "enter"
    enter.write_text('printf "%s|" "$SATLINE_WORK" "$SATLINE_DATA" "$PS1" "${HOME-none}"; exec "$@"')
    command = words[-1].replace("/there/enter", str(enter))
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=True
    )
    assert done.stdout == "/there/users/user-007|/there/data|it's $ \\e[|none|a b|it's|$HOME|"


def test_hostile_users_stay_in_their_directory() -> None:
    parameters = {"clients": [["ssh"]], "enter": "e", "users": "/u", "environment": {}}
    words = user_shell.client(parameters, {"SATLINE_USER": "../../etc"}, ["sh"])
    assert "SATLINE_WORK=/u/______etc" in words[-1]


def test_the_bundle_is_enough_to_run_the_agent(tmp_path: Path) -> None:
    program = tmp_path / "satline-monitor"
    program.write_text("#!/bin/sh\necho 1\n")
    there = tmp_path / "there"
    with tarfile.open(fileobj=io.BytesIO(make_bundle([program]))) as archive:
        archive.extractall(there, filter="data")
    assert (there / "workloads/programs/holder.py").is_file()
    requests = [
        {"id": 0, "do": "facts", "with": {"programs": ["sh", "no-such-program"]}},
        {"id": 1, "do": "clock", "with": {}},
        {"id": 2, "do": "nonsense", "with": {}},
    ]
    environment = {
        "PYTHONPATH": str(there / "python"),
        "PATH": os.environ["PATH"],
        "XDG_STATE_HOME": str(tmp_path),
    }
    process = subprocess.Popen(
        [sys.executable, "-S", "-m", "satline.systems.remote.agent", str(there)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd="/",
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "satline-agent 1\n"
        answers = []
        for request in requests:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert process.returncode == 0
    facts, clock, nonsense = answers
    assert facts["answer"]["missing"] == ["no-such-program"]
    assert facts["answer"]["monitor_fails"] is None
    assert facts["answer"]["host"]["page_bytes"] == os.sysconf("SC_PAGESIZE")
    assert len(clock["answer"]) == 2
    assert nonsense["error"][0] == "KeyError: 'nonsense'"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Agent(tmp_path, ThisHost(cgroup_root=tmp_path / "none", state=tmp_path / "state"), tmp_path)


def test_the_agent_prepares_and_restores_this_host(agent: Agent, tmp_path: Path) -> None:
    run_id = secrets.token_hex(16)
    limits = {"processors": 1, "memory_bytes": 64 << 20}
    told = agent.do(
        "prepare",
        {
            "configuration": {
                "run_id": run_id,
                "limits": limits,
                "scratch": str(tmp_path),
                "delay_accounting": False,
                "knobs": {"swap_device": None},
            }
        },
    )
    assert told["limits"] == {"processors": 1}
    assert "not mounted" in told["not_set"]["memory_bytes"]
    environment = {
        "PATH": os.environ["PATH"], "SATLINE_USER": "u\t1", "SATLINE_WORK": f"{told['users']}/u",
    }  # fmt: skip
    script = 'echo "$PWD $HOME"; taskset -pc $$ 2>/dev/null | sed "s/.*: //"'
    done = subprocess.run(
        ["sh", told["enter"], "sh", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    where, *affinity = done.stdout.splitlines()
    assert where == f"{told['users']}/u {told['users']}/u"
    assert affinity in ([], [str(told["affinity"][0])])
    assert "\tu\t1\n" in Path(told["users_file"]).read_text()
    assert agent.do("restore", {}) == []
    assert list(tmp_path.glob("satline-*")) == []


def test_the_agent_sets_what_it_may(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "knob").write_text("3")
    said = agent.do("set", {"files": {"knob": "0", "none/knob": "1"}})
    assert (tmp_path / "knob").read_text() == "0"
    assert list(said) == ["none/knob"]
    assert "/none/knob does not take 1" in said["none/knob"]


def test_paging_devices_that_cannot_be_are_told(agent: Agent, tmp_path: Path) -> None:
    assert "No such file" in (
        agent.do("swap_on", {"devices": [str(tmp_path / "none")], "size_bytes": 1 << 20}) or ""
    )


def test_the_end_of_the_pipe_stops_what_is_being_done_and_restores(tmp_path: Path) -> None:
    """A study that is killed while its preparing commands run there must not wait for them."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-m", "satline.systems.remote.agent", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**python_environment(), "XDG_STATE_HOME": str(tmp_path / "state")},
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        configuration = {
            "run_id": "ab" * 16,
            "limits": {},
            "scratch": str(tmp_path),
            "delay_accounting": False,
            "knobs": {"swap_device": None},
        }
        for number, (name, arguments) in enumerate(
            [
                ("prepare", {"configuration": configuration}),
                ("run_once", {"commands": ["touch begun; exec sleep 1000"], "timeout_s": 2000}),
            ]
        ):
            process.stdin.write(json.dumps({"id": number, "do": name, "with": arguments}) + "\n")
            process.stdin.flush()
        told = json.loads(process.stdout.readline())["answer"]
        while not (Path(told["data"]) / "begun").exists():
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(600) == 0
    assert list(tmp_path.glob("satline-*")) == []
    assert list((tmp_path / "state").rglob("*.ledger")) == []


def test_a_broken_request_is_answered_and_the_next_is_carried_out(agent: Agent) -> None:
    requests: queue.Queue[bytes] = queue.Queue()
    answers: list[bytes] = []
    for line in (b"nonsense\n", b"[]\n", b'{"id": 4, "do": "clock", "with": {}}\n', b""):
        requests.put(line)
    serve(agent, requests, answers.append, threading.Event())
    assert ["error" in json.loads(answer) for answer in answers] == [True, True, False]
