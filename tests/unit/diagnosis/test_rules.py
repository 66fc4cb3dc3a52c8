"""Every rule on studies whose truth is known: where it holds, and where it must not."""

from __future__ import annotations

import json

import pytest
from made_recording import at
from made_study import Made

from satline.diagnosis import RULES, Diagnosis, Finding, diagnose
from satline.present.documents import plain
from satline.present.documents import text as as_text

pytestmark = pytest.mark.slow

CPU = Made(cpu=0.2, station=0, processors=1)
CASES = {
    "cpu_bound": CPU,
    "two processors": Made(cpu=0.4, processors=2),
    "paging_bound": Made(cpu=0.02, station=0.2, kind="page", memory_fraction=0.99),
    "paging behind a cap": Made(cpu=0.02, station=0.2, kind="page", memory_fraction=0.99, cap=True),
    "io_bound": Made(cpu=0.02, station=0.2, kind="io"),
    "io behind a cap": Made(cpu=0.02, station=0.2, kind="io", cap=True),
    "quota_bound": Made(cpu=0.1, processors=1, quota=0.5),
    "serialised_server": Made(cpu=0.02, station=0.2, kind="server", processors=2),
    "server on one processor": Made(cpu=0.02, station=0.2, kind="server", processors=1),
    "paging_overhead": Made(cpu=0.15, overhead=0.12, memory_fraction=0.99),
    "storage_not_bottleneck": Made(cpu=0.2, memory_fraction=0.99),
    "light": Made(cpu=0.01, levels=(1, 2, 3, 4, 6)),
    "light paging": Made(cpu=0.01, station=0.01, kind="page", levels=(1, 2, 3, 4, 6)),
    "background": Made(cpu=0.005, processors=2, background=True, levels=(1, 2, 3, 4, 6)),
}
FIRST = {
    "cpu_bound": "cpu_bound",
    "two processors": "cpu_bound",
    "paging_bound": "paging_bound",
    "paging behind a cap": "paging_bound",
    "io_bound": "io_bound",
    "io behind a cap": "io_bound",
    "quota_bound": "quota_bound",
    "serialised_server": "serialised_server",
    "server on one processor": "serialised_server",
    "paging_overhead": "paging_overhead",
    "storage_not_bottleneck": "cpu_bound",
}


class Diagnoses(dict[str, Diagnosis]):
    """Those that were asked for: tests in parallel share out the cases among their processes."""

    def __missing__(self, name: str) -> Diagnosis:
        return self.setdefault(name, diagnose(CASES[name].make()))


@pytest.fixture(scope="module")
def diagnoses() -> dict[str, Diagnosis]:
    return Diagnoses()


ALSO = {
    "storage_not_bottleneck": {"storage_not_bottleneck"},
    "background": {"cpu_background"},
}


def finding(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(f for f in (*diagnosis.findings, *diagnosis.others) if f.rule == rule)


@pytest.mark.parametrize("name", FIRST)
def test_names_what_the_study_was_built_to_saturate(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    answer = diagnoses[name]
    assert answer.saturation.outcome == "saturated", answer.headline
    named = [f for f in answer.findings if f.component != "none"]
    assert named, (answer.headline, [(f.rule, f.summary) for f in answer.others])
    assert named[0].rule == FIRST[name], [(f.rule, f.strength, f.summary) for f in answer.findings]
    assert named[0].title in answer.headline
    assert named[0].remedies
    assert all(e.value is not None for e in named[0].evidence if e.supports)


@pytest.mark.parametrize("name", [n for n in FIRST if n != "paging_overhead"])
def test_saturation_load_is_near_that_of_the_asymptotes(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    at = diagnoses[name].saturation.at
    assert at is not None
    truth = CASES[name].saturation
    assert at.low * 0.75 <= truth <= at.high * 1.25, (at, truth)


@pytest.mark.parametrize("name", ["light", "light paging", "background"])
def test_an_unsaturated_study_names_no_bottleneck(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    answer = diagnoses[name]
    assert answer.saturation.outcome == "not-saturated", answer.headline
    assert all(f.component == "none" for f in answer.findings)
    assert "Not saturated in the range seen" in answer.headline
    assert "nearest to full" in finding(answer, "cpu_bound").summary


@pytest.mark.parametrize("name", CASES)
def test_no_other_rule_holds(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    held = {f.rule for f in diagnoses[name].findings}
    assert held == ({FIRST[name]} if name in FIRST else set()) | ALSO.get(name, set())


def test_only_the_right_rules_hold(diagnoses: dict[str, Diagnosis]) -> None:
    for name in ("cpu_bound", "two processors", "storage_not_bottleneck"):
        for rule in (
            "paging_bound",
            "io_bound",
            "quota_bound",
            "serialised_server",
            "paging_overhead",
            "cpu_background",
        ):
            assert finding(diagnoses[name], rule).state != "holds", (name, rule)
    assert finding(diagnoses["quota_bound"], "cpu_bound").state == "does-not-hold"
    assert finding(diagnoses["paging_bound"], "io_bound").state == "does-not-hold"
    assert finding(diagnoses["io_bound"], "paging_bound").state == "does-not-hold"
    assert finding(diagnoses["serialised_server"], "cpu_bound").state == "does-not-hold"
    assert finding(diagnoses["storage_not_bottleneck"], "storage_not_bottleneck").state == "holds"
    assert finding(diagnoses["cpu_bound"], "storage_not_bottleneck").state == "does-not-hold"
    assert finding(diagnoses["paging_bound"], "storage_not_bottleneck").state == "does-not-hold"
    assert finding(diagnoses["background"], "cpu_background").state == "holds"


@pytest.mark.parametrize("name", ["paging behind a cap", "io behind a cap"])
def test_a_cap_is_named_and_raising_it_is_the_first_remedy(
    name: str, diagnoses: dict[str, Diagnosis]
) -> None:
    first = diagnoses[name].findings[0]
    assert "cap" in first.remedies[0]
    assert "device itself is mostly idle" in first.summary


def test_page_wait_is_seen_without_delay_accounting() -> None:
    answer = diagnose(Made(cpu=0.02, station=0.2, kind="page", delay_accounting=False).make())
    found = finding(answer, "paging_bound")
    assert found.state == "holds"
    assert "processor time" in found.summary
    assert finding(answer, "serialised_server").state == "cannot-judge"
    assert any(u.signal == "share_page_wait" and "paging_bound" in u.rules for u in answer.unseen)


def test_nothing_is_named_for_which_the_evidence_is_missing() -> None:
    recording = Made(cpu=0.02, station=0.2, kind="page").make()
    for table in ("processor", "user", "task", "device", "cgroup"):
        recording.rows.pop(table, None)
    answer = diagnose(recording)
    assert answer.saturation.outcome == "saturated"
    assert not answer.findings
    # that no quota is stated is in the description: only that rule can be judged
    blind = [f for f in answer.others if f.rule != "quota_bound"]
    assert all(f.state == "cannot-judge" and f.missing for f in blind), blind
    assert all("needs" in f.summary for f in blind if f.summary.startswith("not recorded")), blind
    # Pages come and go, which nothing but memory explains; that users wait for them nobody saw.
    assert "memory short, possible" in answer.headline


def test_warnings_name_what_weakens_the_answer() -> None:
    recording = CPU.make()
    recording.sources["monitor"]["sampling"] |= {"samples": 300, "samples_lost": 7}
    recording.sources["terminal"] = {"late": True, "lateness": {"p99_us": 25_000}}
    recording.description["system_under_test"]["not_set"] = {"read_iops": "no blkio controller"}
    recording.damage = ["user/monitor-1-0.seg: 17 bytes"]
    text = "\n".join(diagnose(recording).warnings)
    for part in ("17 bytes", "7 of 307 samples", "25.0 ms", "read_iops", "no blkio controller"):
        assert part in text


def test_a_run_marked_late_is_judged_all_the_same_and_says_so() -> None:
    recording = CPU.make()
    recording.sources["terminal"] = {
        "late": True,
        "lateness": {"p99_us": 25_000},
        "cost": {"window_processor_share": 0.9},
    }
    answer = diagnose(recording)
    assert answer.saturation.outcome == "saturated"
    assert answer.findings[0].rule == "cpu_bound"
    text = " ".join(answer.warnings)
    for part in ("25.0 ms", "90% of a processor"):
        assert part in text


def test_a_light_load_of_which_much_failed_is_not_called_unsaturated() -> None:
    recording = CASES["light"].make()
    for row in recording.rows["transaction"][::4]:
        row["outcome"] = "timeout"
    answer = diagnose(recording)
    assert answer.saturation.outcome == "partly-known"
    assert "25% of the transactions failed" in answer.headline


@pytest.mark.parametrize(("name", "outcome"), [("light", "partly-known"), ("cpu_bound", "saturated")])
def test_users_who_could_not_log_on_weaken_the_answer(name: str, outcome: str) -> None:
    recording = CASES[name].make()
    assert not any("log-on" in warning for warning in diagnose(recording).warnings)
    recording.rows["event"].append(
        {**at(1), "source": "terminal", "event": "log-on-failed", "text": "user-002: no prompt"}
    )
    answer = diagnose(recording)
    assert answer.saturation.outcome == outcome
    assert any("1 log-on failed for good" in warning for warning in answer.warnings)


def test_full_processors_are_not_named_when_it_is_unknown_whether_users_wait_for_them() -> None:
    recording = Made(cpu=0.02, station=0.2, kind="io", background=True).make()
    for row in recording.rows["user"]:
        del row["run_delay_us"]
    found = finding(diagnose(recording), "cpu_bound")
    assert found.state == "cannot-judge"
    assert found.missing == ("share_cpu_wait",)


def test_a_quota_that_may_hold_the_load_back_unseen_is_not_taken_for_processors() -> None:
    recording = CASES["quota_bound"].make()
    for row in recording.rows["cgroup"]:
        for name in ("quota_periods", "quota_throttled_periods", "quota_throttled_us"):
            del row[name]
    assert finding(diagnose(recording), "cpu_bound").state == "cannot-judge"


def test_a_thread_that_is_full_at_every_load_is_not_taken_for_the_server() -> None:
    recording = Made(cpu=0.02, station=0.2, kind="server", processors=2).make()
    for row in recording.rows["task"]:
        row["cpu_us"] = (row["monotonic_ns"] - recording.rows["task"][0]["monotonic_ns"]) // 1000
    found = finding(diagnose(recording), "serialised_server")
    assert found.state == "cannot-judge"
    assert "lightest load too" in found.summary


def test_paging_that_was_not_recorded_at_light_load_is_not_said_to_climb() -> None:
    recording = CASES["paging_bound"].make()
    begun = min(e["monotonic_ns"] for e in recording.rows["event"] if e["users"] == 8)
    for table, names in (
        ("system", ("swap_in_pages", "swap_out_pages", "major_faults")),
        ("cgroup", ("major_faults",)),
    ):
        for row in recording.rows[table]:
            if row["monotonic_ns"] < begun:
                row.update(dict.fromkeys(names))
    assert finding(diagnose(recording), "paging_bound").state == "cannot-judge"


def test_every_fact_that_is_said_to_support_a_finding_does(diagnoses: dict[str, Diagnosis]) -> None:
    kernel = diagnoses["two processors"].findings[0]
    assert kernel.rule == "cpu_bound"
    assert all(e.supports for e in kernel.evidence)
    recording = CPU.make()
    for row in recording.rows["processor"]:
        row["user_us"], row["system_us"] = row["system_us"], row["user_us"]
    found = finding(diagnose(recording), "cpu_bound")
    assert {e.threshold for e in found.evidence if not e.supports} == {
        "most of total CPU",
        "less than user time",
    }


def test_work_outside_the_load_is_told() -> None:
    recording = CPU.make()
    for row in recording.rows["cgroup"]:
        row["cpu_us"] //= 2
    assert any("outside the load" in w for w in diagnose(recording).warnings)
    assert not any("outside the load" in w for w in diagnose(CPU.make()).warnings)


def test_missing_signals_of_the_monitor_are_told_with_the_rules_that_lose_by_them() -> None:
    recording = Made(cpu=0.02, station=0.2, kind="page", delay_accounting=False).make()
    recording.sources["monitor"]["missing"] = [
        {
            "signal": "io_delay_us",
            "reason": "delay accounting is off",
            "would_need": "kernel.task_delayacct = 1",
        }
    ]
    unseen = {u.signal: u for u in diagnose(recording).unseen}
    assert unseen["io_delay_us"].would_need == "kernel.task_delayacct = 1"
    assert "io_bound" in unseen["io_delay_us"].rules


def test_each_rule_is_told_in_the_words_of_virtual_machines_for_a_simulated_one() -> None:
    recording = CASES["paging_bound"].make()
    recording.description["system_under_test"]["kind"] = "simulated"
    first = diagnose(recording).findings[0]
    assert first.rule == "paging_bound"
    assert "multiprogramming level" in first.remedies[0]
    assert not any("memory.high" in remedy for remedy in first.remedies)
    for rule, _ in RULES:
        words = " ".join(rule.vm_remedies or rule.remedies)
        assert not any(term in words for term in ("zram", "memory.", "cpu.", "ionice")), rule.name


def test_a_cap_stays_the_first_remedy_in_those_words_too() -> None:
    recording = CASES["io behind a cap"].make()
    recording.description["system_under_test"]["vocabulary"] = "vm"
    remedies = diagnose(recording).findings[0].remedies
    assert "cap" in remedies[0]
    assert any("minidisks" in remedy for remedy in remedies)


def test_json_is_whole_and_stable(diagnoses: dict[str, Diagnosis]) -> None:
    answer = diagnoses["paging_bound"]
    text = as_text(plain(answer))
    assert text == as_text(plain(diagnose(CASES["paging_bound"].make())))
    assert json.loads(text) == plain(answer)
    assert json.loads(text)["findings"][0]["rule"] == "paging_bound"
    assert [w["load_low"] for w in json.loads(text)["waits"]] == list(CASES["paging_bound"].levels)
