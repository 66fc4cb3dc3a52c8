"""How many processors a text of `sar` tells of, and how busy they are: alone, summed, in partitions."""

from __future__ import annotations

import pytest
from imports import rows
from sar_texts import AIX, LINUX, Import, differences

from satline.diagnosis import diagnose
from satline.errors import InputError
from satline.reduction import reduce


def test_processors_all_together_are_summed(imported: Import) -> None:
    recording = imported(
        LINUX + "10:00:00   CPU   %user   %nice   %system   %iowait   %steal   %idle\n"
        "10:00:10   all   50.00   0.00   10.00   5.00   0.00   35.00\n"
    )
    assert recording.description["host"]["processors"] == 2
    assert differences(recording, "processor", "user_us", "processor = 'all'") == [10_000_000]
    assert differences(recording, "processor", "irq_us") == [None], "sar -u counts interrupts within %system"


def test_many_processors_in_one_row_are_all_counted_busy(imported: Import) -> None:
    lines = "".join(
        f"10:{10 * n:02}:00   all   75.00   0.00   15.00   0.00   0.00   10.00\n" for n in range(1, 6)
    )
    recording = imported(
        LINUX.replace("2 CPU", "56 CPU")
        + "10:00:00   CPU   %usr   %nice   %sys   %iowait   %steal   %idle\n"
        + lines
    )
    observed = reduce(recording).observations
    assert observed["total_cpu"] == pytest.approx([0.9 * 56] * 5)
    assert observed["total_cpu_fraction"] == pytest.approx([0.9] * 5)


def test_hpux_prints_processors_one_by_one_and_their_sum(imported: Import) -> None:
    recording = imported(
        "HP-UX lasv B.11.31 U ia64    03/21/18\n\n00:00:00     cpu    %usr    %sys    %wio   %idle\n"
        "00:05:00       0      20      10       5      65\n"
        "               1      40      10       5      45\n"
        "          system      30      10       5      55\n"
    )
    assert recording.description["host"]["processors"] == 2
    names = recording.connect().execute("SELECT DISTINCT processor FROM processor ORDER BY 1").fetchall()
    assert names == [("0",), ("1",)], "the sum would count twice"
    assert differences(recording, "processor", "user_us", "processor = '1'") == [120_000_000]


def test_a_capped_partition_that_has_used_up_its_entitlement_is_full_though_half_idle(
    imported: Import,
) -> None:
    lines = "".join(
        f"10:{5 * n:02}:00      38      12       1      49    0.50   100.0\n" for n in range(1, 13)
    )
    recording = imported(
        AIX.format("ent=0.50 mode=Capped")
        + "10:00:00    %usr    %sys    %wio   %idle   physc   %entc\n"
        + lines
    )
    assert recording.description["system_under_test"]["limits"] == {"cpu_quota_processors": 0.5}
    assert differences(recording, "processor", "user_us")[0] == pytest.approx(0.5 * 38 / 50 * 300e6)
    observed = reduce(recording).observations
    assert observed["total_cpu_fraction"] == pytest.approx([1.0] * 11)


def test_a_capped_partition_below_its_entitlement_waits_for_the_rest(imported: Import) -> None:
    recording = imported(
        AIX.format("ent=1.00 mode=Capped") + "10:00:00    %usr    %sys    %wio   %idle   physc   %entc\n"
        "10:05:00      20       5      15      60    0.30    30.0\n"
    )
    used = [
        differences(recording, "processor", c)[0] or 0
        for c in ("user_us", "system_us", "iowait_us", "idle_us")
    ]
    assert used[0] + used[1] == pytest.approx(0.30 * 300e6)
    assert used[2] == pytest.approx(0.70 * 15 / 75 * 300e6)
    assert sum(used) == pytest.approx(300e6)


def test_of_an_uncapped_partition_the_capacity_cannot_be_told(imported: Import) -> None:
    lines = "".join(
        f"10:{5 * n:02}:00      60      20       0      20    0.90   180.0\n" for n in range(1, 13)
    )
    recording = imported(
        AIX.format("ent=0.50 mode=Uncapped")
        + "10:00:00    %usr    %sys    %wio   %idle   physc   %entc\n"
        + lines
    )
    assert "limits" not in recording.description["system_under_test"]
    observed = reduce(recording).observations
    assert observed["total_cpu"] == pytest.approx([0.9] * 11)
    assert not [x for x in observed["total_cpu_fraction"] if x == x]


def test_of_a_shared_partition_the_line_for_all_counts_and_not_what_it_left_unused(imported: Import) -> None:
    recording = imported(
        AIX.format("ent=1.00 mode=Capped") + "10:00:00 cpu    %usr    %sys    %wio   %idle   physc   %entc\n"
        "10:05:00  0       60      30       0      10    0.40    40.0\n"
        "          1       10       5       0      85    0.20    20.0\n"
        "          U        -       -       0      40    0.40    40.0\n"
        "          -       26      13       0      61    0.60    60.0\n"
    )
    names = recording.connect().execute("SELECT DISTINCT processor FROM processor").fetchall()
    assert names == [("all",)]
    used = [differences(recording, "processor", c)[0] or 0 for c in ("user_us", "system_us")]
    assert used == pytest.approx([0.40 * 300e6, 0.20 * 300e6])


def test_the_cores_of_a_dedicated_partition_are_what_physc_adds_up_to(imported: Import) -> None:
    recording = imported(
        AIX.format("mode=Capped").replace("lcpu=8", "lcpu=4")
        + "10:00:00 cpu    %usr    %sys    %wio   %idle   physc\n"
        "10:05:00  0        8      92       0       0    1.00\n"
        "          1        0      51       0      49    0.00\n"
        "          2        0       0       0     100    0.51\n"
        "          3        0       0       0     100    0.49\n"
        "          -        4      46       0      50    2.00\n"
    )
    assert recording.description["host"]["processors"] == 2
    assert differences(recording, "processor", "system_us", "processor = 'all'") == [
        pytest.approx(0.46 * 2 * 300e6)
    ]


def test_logical_processors_are_counted_where_cores_are_not_told(imported: Import) -> None:
    recording = imported(
        AIX.format("mode=Capped") + "10:00:00    %usr    %sys    %wio   %idle\n10:05:00   25   0   0   75\n"
    )
    assert recording.description["host"]["processors"] == 8
    assert differences(recording, "processor", "user_us") == [2 * 300_000_000]


ROWS = "10:00:0{}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"


def of_single(*intervals: dict[str, int]) -> str:
    """Text of two processors with these rows in each interval: by name the user time, per cent."""
    lines = [LINUX, ROWS.format(0)]
    for k, own in enumerate(intervals, 1):
        lines += [f"10:00:0{k}   {n:>8} {u}.00 0.00 0.00 0.00 0.00 {100 - u}.00\n" for n, u in own.items()]
    return "".join(lines)


@pytest.mark.parametrize(
    "intervals",
    [
        [{"all": 10, "1": 90}] * 4,
        [{"all": 10, "0": 10, "1": 10}, {"all": 10, "0": 10}, {"all": 10, "0": 0, "1": 90}],
    ],
    ids=["one that was asked for", "one that was off line"],
)
def test_the_row_for_all_counts_where_single_processors_are_lacking(
    imported: Import, intervals: list[dict[str, int]]
) -> None:
    recording = imported(of_single(*intervals))
    assert rows(recording, "SELECT DISTINCT processor FROM processor") == [("all",)]
    assert recording.description["host"]["processors"] == 2
    busy = rows(recording, "SELECT max(user_us) - min(user_us) FROM processor")
    assert busy == [(len(intervals) * 200_000,)]


def test_single_processors_count_where_all_of_them_are_there(imported: Import) -> None:
    recording = imported(of_single(*[{"all": 50, "0": 10, "1": 90}] * 4))
    assert rows(recording, "SELECT DISTINCT processor FROM processor ORDER BY 1") == [("0",), ("1",)]


def test_the_row_for_all_counts_where_it_is_not_the_mean_of_the_single_ones(imported: Import) -> None:
    """90 % of all, of which 0 and 1 are 10 % busy: there must be others."""
    recording = imported(of_single(*[{"all": 90, "0": 10, "1": 10}] * 4))
    assert rows(recording, "SELECT DISTINCT processor FROM processor") == [("all",)]


def test_processors_that_are_not_listed_are_said_to_be_lacking(imported: Import) -> None:
    recording = imported(of_single(*[{"1": 90}] * 4))
    assert any("it lists 1 of 2 processors" in note for note in recording.sources["import"]["notes"])
    answer = diagnose(recording)
    said = "of the host's 2 CPUs 1 were recorded: what is said of the CPU is of those alone"
    assert answer.headline.endswith(f"; but {said}")
    assert said in answer.warnings


def test_memory_nodes_are_no_processors(imported: Import) -> None:
    nodes = "10:00:00   NODE   %user   %nice   %system   %iowait   %steal   %idle\n"
    nodes += "10:00:01   all   50.00   0.00   0.00   0.00   0.00   50.00\n"
    recording = imported(of_single(*[{"0": 10, "1": 90}] * 4) + nodes)
    assert rows(recording, "SELECT DISTINCT processor FROM processor ORDER BY 1") == [("0",), ("1",)]
    assert recording.description["host"]["processors"] == 2


def test_switches_of_a_process_are_not_those_of_the_host(imported: Import) -> None:
    lines = ["Linux 5.14.0 (host) 04/08/22 _x86_64_ (2 CPU)\n\n"]
    for k in range(3):
        lines.append(f"10:00:0{k}      UID       PID   cswch/s nvcswch/s  Command\n")
        lines.append(f"10:00:0{k + 1}     1000      8741      7.68      0.00  firefox\n\n")
    with pytest.raises(InputError, match="no figure of sar that Satline reads"):
        imported("".join(lines))
