"""The tables that say what a target is like, and what follows from them for the workload."""

import tomllib
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.experiment.feasibility import check_feasible
from satline.experiment.study import Study, read_study
from satline.experiment.targets import required_programs, target_settings, workload_for
from satline.systems import Conditions
from satline.systems.guest import GuestSettings
from satline.systems.remote import RemoteSettings

BASE = 'title = "t"\nworkload = "compute"\ntarget = "{target}"\n{table}[load]\nusers = [1]\n'


def study(tmp_path: Path, target: str, table: str) -> Study:
    path = tmp_path / "s.toml"
    path.write_text(BASE.format(target=target, table=table))
    return read_study(path)


def test_a_guest_is_what_its_table_says(tmp_path: Path) -> None:
    table = (
        '[guest]\nmemory = "192 MB"\nswap_disks = 2\nswap_disk = "64 MiB"\nswap_iops = 50\nimage = "d.raw"\n'
        "[guest.knobs]\npage_cluster = 0\nmglru = 7\n"
    )
    assert target_settings(study(tmp_path, "guest", table)) == GuestSettings(
        memory_bytes=192_000_000,
        swap_disks=2,
        swap_disk_bytes=64 << 20,
        swap_iops=50,
        page_cluster=0,
        mglru=7,
        disk=str(tmp_path / "d.raw"),
    )


def test_a_guest_needs_no_table(tmp_path: Path) -> None:
    assert target_settings(study(tmp_path, "guest", "")) == GuestSettings()
    assert target_settings(study(tmp_path, "this-host", "")) is None


def test_a_remote_host_is_what_its_table_says(tmp_path: Path) -> None:
    table = '[remote]\nhost = "me@far"\nport = 2222\nknown_hosts = "known"\nsessions_per_connection = 4\n'
    assert target_settings(study(tmp_path, "remote", table)) == RemoteSettings(
        host="me@far", port=2222, known_hosts=tmp_path / "known", sessions_per_connection=4
    )


@pytest.mark.parametrize(
    ("target", "table", "words"),
    [
        ("remote", "", "remote: missing"),
        ("this-host", "[guest]\nprocessors = 1\n", 'the target is "this-host"'),
        ("guest", '[remote]\nhost = "h"\n', 'the target is "guest"'),
        ("guest", '[guest]\nmemory = "1 MB"\n', "guest.memory"),
        ("guest", "[guest]\nswap_disks = 17\n", "guest.swap_disks"),
        ("guest", "[guest.knobs]\npage_cluster = 11\n", "guest.knobs.page_cluster"),
        ("guest", "[guest.knobs]\nmglru = 8\n", "guest.knobs.mglru"),
        ("remote", '[remote]\nhost = "-oProxyCommand=x"\n', "remote.host"),
        ("remote", '[remote]\nhost = "a b"\n', "remote.host"),
        ("remote", '[remote]\nhost = "h"\nport = 0\n', "remote.port"),
        ("remote", '[remote]\nhost = "h"\npassword = "x"\n', "remote.password"),
    ],
)
def test_tables_that_cannot_be_are_refused(tmp_path: Path, target: str, table: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        study(tmp_path, target, table)
    assert words in f"{caught.value.message} {caught.value.hint}"
    assert "s.toml:" in caught.value.message


def test_limits_are_not_held_against_this_host_where_the_load_runs_elsewhere(tmp_path: Path) -> None:
    table = '[limits]\nprocessors = 5000\nmemory = "900 TB"\n'
    check_feasible(study(tmp_path, "guest", table), tmp_path)
    with pytest.raises(InputError, match=r"limits\.processors"):
        check_feasible(study(tmp_path, "this-host", table), tmp_path)


def test_a_workloads_shell_leads_to_where_the_load_runs(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(
        'name = "w"\nshell = ["bash", "-c", \'a "$B"\']\nprompt = { pattern = "> $" }\nrequires = ["awk"]\n'
        '[[script]]\nname = "s"\n[[script.command]]\nclass = "c"\ninput = "x\\ty"\n'
    )
    path = tmp_path / "s.toml"
    path.write_text(BASE.format(target="guest", table="").replace('"compute"', '"w.toml"'))
    found = read_study(path)
    (tmp_path / "run").mkdir()
    conditions = Conditions(tmp_path / "run/data", tmp_path / "run/users", tmp_path / "run/users.tsv")
    assert workload_for(found, conditions) == found.workload.absolute()
    conditions.shell_prefix = ["/run/bash"]
    before, after = (
        tomllib.loads(found.workload_text),
        tomllib.loads(workload_for(found, conditions).read_text()),
    )
    assert after.pop("shell") == ["/run/bash", "bash", "-c", 'a "$B"']
    assert after.pop("requires") == []
    assert after == {key: value for key, value in before.items() if key not in ("shell", "requires")}
    assert required_programs(found) == ("awk", "bash")
