"""History: what is kept, what a kill or a full disk leaves, and days held against the days before them."""

from __future__ import annotations

import errno
import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from satline.errors import InputError, SatlineError
from satline.history import Figures, History, Rules, add, compare_with_history, judge, prune
from satline.history import _add as adding
from satline.importers import Sink
from satline.recording import Recording, check, describe, seal
from satline.recording import prune as let_days_go

pytestmark = pytest.mark.slow

T0 = 1_795_046_400 * 10**9  # 2026-11-19 00:00 UTC
FIRST = date(2026, 11, 19)
EVIL = "\x1b[31m../sda\n"


def made(path: Path, days: int = 3, step_s: int = 600, devices: tuple[str, ...] = ("sda", EVIL)) -> Path:
    """Readings of whole days; counters that grow by what the hour says."""
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    number = np.arange(days * 86_400 // step_s + 1)
    time = T0 + number * step_s * 10**9
    sink.begin_run()
    busy = np.cumsum(1000 + 100 * (number % 7))
    sink.table("system", time, {"context_switches": busy, "users_in_queue": 1 + number % 5})
    for k, device in enumerate(devices):
        columns = {"device": np.full(len(time), device, dtype=object), "reads": busy * (k + 1)}
        sink.table("device", time, columns)
    sink.origin(format="test", files=["made"])
    sink.finish()
    describe.annotate(path, "second drum installed")
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return made(tmp_path_factory.mktemp("r") / "host.satline")


@pytest.fixture(scope="module")
def stocked(tmp_path_factory, recording):
    store = History.open(tmp_path_factory.mktemp("h") / "history", make=True)
    add(store, recording)
    return store


@pytest.fixture
def history(tmp_path, stocked):
    shutil.copytree(stocked.path, tmp_path / "history")
    return History.open(tmp_path / "history")


def switches(path: Path) -> float:
    rows = (
        Recording.open(path)
        .connect()
        .execute("SELECT max(context_switches) - min(context_switches) FROM system")
    )
    return float(rows.fetchall()[0][0])


def test_what_is_added_is_whole_and_hourly_readings_are_a_recording(history, recording):
    (kept,) = history.recordings()
    assert kept.full[:3] == tuple(FIRST + timedelta(days=k) for k in range(3))
    assert kept.hours == kept.full[:3]
    full, hourly = kept.directory / "full.satline", kept.directory / "hourly.satline"
    for one in (full, hourly):
        assert check(one).ok
        assert switches(one) == switches(recording)
        assert Recording.open(one).description["annotation"][0]["text"] == "second drum installed"
    rows = Recording.open(hourly).connect().execute("SELECT count(*) FROM system").fetchall()[0][0]
    assert 72 <= rows <= 75
    entities = (
        Recording.open(hourly).connect().execute("SELECT DISTINCT device FROM device ORDER BY 1").fetchall()
    )
    assert {e for (e,) in entities} == {"sda", EVIL}


def test_adding_again_changes_nothing_and_growth_renews(history, recording, tmp_path):
    assert add(history, recording).outcome == "there already"
    longer = made(tmp_path / "host.satline", days=4)
    text = (longer / "recording.toml").read_text()
    own = Recording.open(longer).description["recording"]["id"]
    (longer / "recording.toml").write_text(
        text.replace(own, Recording.open(recording).description["recording"]["id"])
    )
    seal(longer)
    assert add(history, longer).outcome == "renewed"
    assert len(history.all_days()) == 4
    assert len(history.recordings()) == 1


def test_what_the_recording_has_let_go_since_stays_in_the_history(history, recording, tmp_path):
    shutil.copytree(recording, tmp_path / "host.satline")
    now = T0 / 1e9 + 3.5 * 86_400
    gone = let_days_go(tmp_path / "host.satline", keep_s=86_400, now=lambda: now)
    assert [d.day for d in gone.days] == [str(FIRST + timedelta(days=k)) for k in range(2)]
    assert add(history, tmp_path / "host.satline").outcome == "renewed"
    (kept,) = history.recordings()
    assert kept.full[:3] == kept.hours[:3] == tuple(FIRST + timedelta(days=k) for k in range(3))
    assert check(kept.directory / "full.satline").ok
    assert switches(kept.directory / "full.satline") == switches(recording)


def test_prune_lets_go_of_old_detail_only_and_a_dry_run_of_nothing(history):
    at = FIRST + timedelta(days=history.rules.full_days + 2)
    before = sorted(p for p in history.path.rglob("*") if p.is_file())
    planned = prune(history, at, dry_run=True)
    assert sorted(p for p in history.path.rglob("*") if p.is_file()) == before
    assert [d for _, d in planned.full] == [FIRST, FIRST + timedelta(days=1)]
    done = prune(history, at)
    assert done.full == planned.full
    assert done.bytes_freed == planned.bytes_freed > 0
    (kept,) = history.recordings()
    assert kept.full[0] == FIRST + timedelta(days=2)
    assert len(kept.hours) == 3
    assert check(kept.directory / "full.satline").ok


def test_days_that_are_kept_stay_and_years_later_only_annotations_are_left(history):
    history.note(FIRST, keep=True)
    prune(history, FIRST + timedelta(days=400))
    (kept,) = history.recordings()
    assert kept.full == (FIRST,)
    history.note(FIRST, keep=False)
    prune(history, FIRST + timedelta(days=2000))
    (kept,) = history.recordings()
    assert (kept.full, kept.hourly, kept.hours) == ((), (), ())
    told = Recording.open(kept.directory / "hourly.satline").description["annotation"]
    assert told[0]["text"] == "second drum installed"


class Killed(BaseException):
    pass


def everything(history: History) -> tuple[set[date], float]:
    (kept,) = history.recordings()
    return {*kept.full, *kept.hourly, *kept.hours}, switches(kept.directory / "hourly.satline")


@pytest.mark.parametrize("nth", range(1, 12))
def test_a_kill_at_any_step_of_pruning_loses_nothing_that_the_rules_keep(history, monkeypatch, nth):
    """Killed before the nth change of the disk; then pruned to the end."""
    at = FIRST + timedelta(days=history.rules.full_days + 2)
    before = everything(history)
    count = 0

    def maybe(*arguments, real, **options):
        nonlocal count
        count += 1
        if count == nth:
            raise Killed
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        rename, rmtree = Path.rename, shutil.rmtree
        patch.setattr(Path, "rename", lambda s, t: maybe(s, t, real=rename))
        patch.setattr(adding.shutil, "rmtree", lambda *a, **o: maybe(*a, real=rmtree, **o))
        try:
            prune(history, at)
        except Killed:
            assert everything(history) == before
    prune(history, at)
    (kept,) = history.recordings()
    assert everything(history) == before
    assert kept.full[0] == FIRST + timedelta(days=2)
    assert not [p for p in kept.directory.iterdir() if p.name.startswith(".")]


def test_detail_stays_where_nothing_readable_stands_in_for_it(history):
    (kept,) = history.recordings()
    (kept.directory / "hours" / f"{FIRST}.parquet").write_bytes(b"broken")
    found = prune(history, FIRST + timedelta(days=500))
    assert [d for _, d, _ in found.kept] == [FIRST]
    assert FIRST in history.recordings()[0].full


def test_a_full_disk_leaves_the_history_as_it_was(history, tmp_path, monkeypatch):
    other = made(tmp_path / "other.satline", days=1)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(adding, "write_hours", full)
    with pytest.raises(SatlineError, match="no space left"):
        add(history, other)
    assert len(history.recordings()) == 1
    assert [p for p in (history.path / "recordings").iterdir() if p.name.startswith(".")] == []


def test_a_kill_between_the_two_names_of_a_renewal_is_mended(history):
    (kept,) = history.recordings()
    kept.directory.rename(kept.directory.with_name(f".old-{kept.name}"))
    (kept.directory.parent / ".adding-x").mkdir()
    prune(history, FIRST)
    assert [k.name for k in history.recordings()] == [kept.name]
    assert not (kept.directory.parent / ".adding-x").exists()


def test_rules_are_checked_with_file_and_line(history):
    (history.path / "history.toml").write_text("format = 1\n[keep]\nfull_days = 0\n")
    with pytest.raises(InputError, match=r"history.toml:3: keep.full_days: must be at least 1"):
        History.open(history.path)
    with pytest.raises(InputError, match="no history"):
        History.open(history.path / "none")


def test_a_truncated_recording_is_added_with_its_damage_said(history, tmp_path):
    from satline.recording import RecordingWriter

    path = tmp_path / "cut.satline"
    describe.create(path, "test", host={"name": "web1"})
    with RecordingWriter(path, "monitor") as writer:
        for k in range(30):
            row = {"time_ns": T0 + k * 10**10, "monotonic_ns": k * 10**10, "context_switches": k * 5}
            writer.write_rows("system", [row])
    (segment,) = path.glob("segments/system/*.seg")
    segment.write_bytes(segment.read_bytes()[:-20])
    found = add(history, path)
    assert (found.outcome, found.damaged) == ("added", 1)


# ------------------------------------------------------------------ days against days


def quiet(seed: int, days: int = 32, entities: int = 6):
    """A host with a daily and weekly course, a drifting load, autocorrelated and bursty columns."""
    random = np.random.default_rng(seed)
    at = [date(2026, 9, 7) + timedelta(days=k) for k in range(days)]
    weekend = np.array([d.weekday() >= 5 for d in at])
    shape = 0.1 + np.exp(-(((np.arange(24) - 13) / 4.0) ** 2))
    level = (np.where(weekend, 0.3, 1.0) * (1 + np.cumsum(random.normal(0, 0.02, days))))[:, None]
    load = 30 * level * shape * np.exp(random.normal(0, 0.05, (days, 24)))
    names, values = [("system", "", "active_users", "users")], [load]
    for e in range(entities):
        for k in range(8):
            names.append(("device", f"d{e}", f"v{k}", "per second"))
            noise = np.exp(0.2 * np.cumsum(random.normal(size=(days, 24)) * 0.3, axis=1) * 0.5)
            values.append(
                load * random.uniform(0.5, 2) * noise if k < 6 else (random.random((days, 24)) < 0.02) * 1.0
            )
    return at, names, np.stack(values, axis=2)


def test_quiet_days_raise_at_most_one_alarm_a_week():
    alarms = days = 0
    for seed in range(3):
        at, names, values = quiet(seed)
        for d in range(18, 32):
            alarms += judge(Figures.of(at[: d + 1], names, values[: d + 1])).alarms > 0
            days += 1
    assert 7 * alarms / days <= 1


def test_a_row_that_vanishes_and_one_that_appears_are_named():
    at, names, values = quiet(1)
    gone = [k for k, n in enumerate(names) if n[1] == "d2"]
    values[-1, :, gone] = np.nan
    new = [k for k, n in enumerate(names) if n[1] == "d4"]
    values[:-1, :, new] = np.nan
    found = judge(Figures.of(at, names, values))
    assert {(r.row.entity, r.appeared) for r in found.rows if r.alarm} == {("d2", False), ("d4", True)}


def test_one_who_comes_and_goes_by_habit_is_no_alarm():
    at, names, values = quiet(2)
    random = np.random.default_rng(5)
    for e in range(6):
        columns = [k for k, n in enumerate(names) if n[1] == f"d{e}"]
        away = random.random(len(at)) < 0.3
        away[-1] = e == 0
        values[np.ix_(away, range(24), columns)] = np.nan
    found = judge(Figures.of(at, names, values))
    assert not [r for r in found.rows if r.alarm]


@pytest.mark.parametrize("hours", [slice(0, 24), slice(8, 12)])
def test_a_column_far_beyond_its_usual_variation_is_found_and_load_alone_is_not(hours):
    at, names, values = quiet(3)
    values[-1] *= 1.5  # a heavy day: everything with the load
    assert not [c for c in judge(Figures.of(at, names, values)).columns if c.alarm]
    k = next(k for k, n in enumerate(names) if n[1:3] == ("d1", "v1"))
    values[-1, hours, k] *= 8
    found = [c for c in judge(Figures.of(at, names, values)).columns if c.alarm]
    assert "v1@d1" in {c.name for c in found}


def test_days_marked_bad_are_no_measure():
    at, names, values = quiet(4)
    k = next(k for k, n in enumerate(names) if n[1:3] == ("d1", "v1"))
    bad = at[14:24:2]
    for d in bad:
        values[at.index(d), :, k] *= 10
    values[-1, :, k] *= 10
    seen = [c.name for c in judge(Figures.of(at, names, values), bad).columns if c.alarm]
    blind = [c.name for c in judge(Figures.of(at, names, values)).columns if c.alarm]
    assert "v1@d1" in seen
    assert "v1@d1" not in blind


def test_a_short_history_says_so_and_raises_no_alarm(history):
    history.note(FIRST, mark="good")
    found = compare_with_history(FIRST + timedelta(days=2), history)
    assert found.reference == FIRST
    assert found.alarms == 0
    assert any("days before it" in n for n in found.notes)


def test_what_cannot_be_compared_is_said(history):
    with pytest.raises(InputError, match="no day before was marked good"):
        compare_with_history(FIRST + timedelta(days=2), history)
    with pytest.raises(InputError, match="has nothing of 2020-01-01"):
        compare_with_history(date(2020, 1, 1), history)
    with pytest.raises(InputError, match="'monday' is no day"):
        compare_with_history(FIRST, history, "monday")


def test_a_recording_outside_the_history_is_held_against_it(history, tmp_path):
    today = made(tmp_path / "today.satline", days=4, devices=("sda",))
    found = compare_with_history(today, history, "usual")
    assert found.day == FIRST + timedelta(days=3)


def test_rules_keep_hours_for_ever_when_told_so(history):
    history.rules = Rules(full_days=1, hourly_days=0)
    history.save()
    again = History.open(history.path)
    assert prune(again, FIRST + timedelta(days=9000)).hourly == []


def of_host(recording: Path, name: str | None, target: Path) -> Path:
    """A copy of a recording as if of this host; another recording, too."""
    shutil.copytree(recording, target)
    content = dict(Recording.open(target).description)
    content["host"] = {} if name is None else {"name": name}
    content["recording"] = {**content["recording"], "id": target.stem}
    describe.replace(target, content)
    seal(target)
    return target


def test_a_recording_of_another_host_is_refused_and_nothing_of_it_is_there(history, recording, tmp_path):
    other = of_host(recording, EVIL, tmp_path / "other.satline")
    before = sorted(p for p in history.path.rglob("*"))
    with pytest.raises(InputError, match=r"the history .* of web1") as told:
        add(history, other)
    assert "history in a directory of its own" in told.value.hint
    assert sorted(p for p in history.path.rglob("*")) == before
    with pytest.raises(InputError, match=r"the history .* of web1"):
        compare_with_history(other, history, "usual")


def test_a_host_that_was_renamed_or_does_not_say_its_name_is_taken(history, recording, tmp_path):
    renamed = of_host(recording, EVIL, tmp_path / "renamed.satline")
    text = (history.path / "history.toml").read_text()
    (history.path / "history.toml").write_text('hosts = ["\\u001b[31m../sda\\n"]\n' + text)
    told = History.open(history.path)
    assert add(told, renamed).outcome == "added"
    told.note(FIRST, mark="good")
    assert History.open(history.path).hosts == (EVIL,)
    assert add(told, of_host(recording, None, tmp_path / "silent.satline")).outcome == "added"
    assert not compare_with_history(FIRST + timedelta(days=2), told, "usual").notes[-1].endswith("for one")


def test_hosts_that_were_mixed_once_are_told(history, recording, tmp_path):
    history.hosts = ("db1",)
    assert add(history, of_host(recording, "db1", tmp_path / "other.satline")).outcome == "added"
    history.hosts = ()
    history.save()
    found = compare_with_history(FIRST + timedelta(days=2), history.path, "usual")
    assert "recordings of db1 and web1 are in it" in found.notes[-1]


def test_a_broken_file_is_told_by_its_own_name_without_a_query(history, recording, tmp_path):
    broken = tmp_path / "broken.satline"
    shutil.copytree(recording, broken)
    file = sorted(broken.glob("tables/system/*/*.parquet"))[-1]
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InputError, match="damaged") as told:
        add(history, broken)
    assert told.value.message.startswith(str(file))
    assert ".adding" not in told.value.message
    assert "SELECT" not in told.value.message
    assert len(history.recordings()) == 1
