"""Which report has what from which source: the table in docs/guides/reports.md.

``python tests/unit/present/source_table.py`` writes it anew; test_sources.py holds it against recordings.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from satline import share
from satline.catalogue import catalogue
from satline.present.definition import MEASURES, THROUGHPUT, find, shipped
from satline.recording import Recording, RecordingWriter, describe
from satline.reduction import group, user_variables, variables
from satline.systems.binaries import find_binary

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "guides" / "reports.md"
BEGIN, END = "<!-- source table: begin -->\n", "<!-- source table: end -->\n"
# Column of the table, archive of it among the shared data.
ARCHIVES = {
    "sar": "sar/sar-12.0.2-historical.txt.xz",
    "PCP": "pcp/pcp-zeroconf",
    "atop": "atop/atop_2_7.log.gz",
}
SOURCES = ("Linux", "Linux study", *ARCHIVES, "Prometheus", "simulated")
Available = dict[str, frozenset[str]]
_EVER_S = 366 * 86400.0


def available(recording: Recording) -> Available:
    """Variables that have values: of the system, devices and locks together, and of users one by one."""
    wanted = {"mpl", *(name for one in shipped() for name in find(one).variables())}
    one_sample = 1e-3
    whole = group(recording, "time", sorted(wanted), every_s=_EVER_S, observation_s=one_sample)
    users = group(recording, "user", sorted(wanted & user_variables()), observation_s=one_sample)
    return {
        "": frozenset(name.partition(":")[0] for name in whole.curves),
        "user": frozenset(users.curves),
    }


def cell(report: str, has: Available) -> str:
    """yes, no, or how many of the report's columns are there."""
    body = find(report).body
    names = has["user" if body.group.by == "user" else ""]
    if body.group.by == "mpl" and "mpl" not in names:
        return "no"

    def there(name: str) -> bool:
        return any(m in names for m in MEASURES) if name == THROUGHPUT else name.partition(":")[0] in names

    shown = sum(there(v.name) and (not v.per or there(v.per)) for v in body.variables)
    return (
        "yes" if shown == len(body.variables) else "no" if not shown else f"{shown} of {len(body.variables)}"
    )


def reports() -> list[str]:
    """Those with columns of their own."""
    return [name for name in shipped() if find(name).body.variables]


def monitored(path: Path) -> Recording:
    """This host, as the monitor records it."""
    command = [str(find_binary("satline-monitor")), "--recording", str(path)]
    subprocess.run([*command, "--interval", "200ms", "--duration", "1s"], capture_output=True, check=True)
    return Recording.open(path)


def columns_seen(recording: Recording) -> dict[str, set[str]]:
    """By table: columns with values."""
    connection, found = recording.connect(), {}
    for table in recording.tables():
        names = [column.name for column in catalogue().table(table).columns]
        counts = ", ".join(f'count("{name}")' for name in names)
        row = connection.execute(f'SELECT {counts} FROM "{table}"').fetchone() or ()
        found[table] = {name for name, count in zip(names, row, strict=True) if count}
    return found


def linux(path: Path, seen: Mapping[str, set[str]], *, study: bool) -> Recording:
    """A host that gives every signal of which the catalogue says where Linux has it, and all `seen`.

    study
        With emulated users, whose transactions are known, in a control group of their own.
    """
    describe.create(path, "test")
    describe.update(path, {"host": {"page_bytes": 4096}})
    if study:
        load = {"kind": None, "cgroup": "load", "limits": {"cpu_quota_processors": 1.0}}
        describe.update(path, {"system_under_test": load})
    tables = ["system", "processor", "device", "user", "task", "lock", *(["cgroup"] if study else [])]
    with RecordingWriter(path, "monitor") as writer:
        for k in range(3):
            at = {"time_ns": (1_700_000_000 + k) * 10**9, "monotonic_ns": k * 10**9}
            for table in tables:
                row: dict[str, object] = {}
                for column in catalogue().table(table).own_columns:
                    there = column.linux or column.name in seen.get(table, ())
                    if column.kind in ("counter", "accumulator", "level") and there:
                        row[column.name] = 10 + (1 if column.kind == "level" else 1000 * k)
                if row:
                    row |= {
                        "system": {"sample": k},
                        "cgroup": {"cgroup": "load"},
                        "device": {"device": "one", "device_kind": "block"},
                        "task": {"pid": 1, "tid": 1, "start_ticks": 1, "user": "one"},
                    }.get(table, {table: "one"})
                    writer.write_rows(table, [{**at, **row}])
        if study:
            words = {"user": "one", "phase": "window", "class": "edit", "outcome": "ok"}
            times = {"response_us": 1000, "reaction_us": 100, "think_us": 1000, "typing_us": 10}
            started = {"time_ns": 1_700_000_001 * 10**9, "monotonic_ns": 10**9}
            writer.write_rows("transaction", [{**started, **words, **times}])
            probe = {"thermometer": "trivial", "elapsed_us": 1000}
            writer.write_rows("thermometer", [{**started, **probe}])
    return Recording.open(path)


def simulated(path: Path) -> Recording:
    """A small run of a machine with a drum, slower paging devices and swap sets."""
    machine = share.path("machines") / "3081D-swapping.toml"
    workload = share.path("workloads") / "simulated" / "tso310.toml"
    plan = ("--users", "200", "--step-seconds", "60", "--warmup-seconds", "10", "--sample-seconds", "5")
    command = [str(find_binary("satline-machine")), "run", str(machine), str(workload), *plan]
    subprocess.run([*command, "--json", "--record", str(path)], capture_output=True, check=True)
    return Recording.open(path)


def imported(path: Path, source: Path) -> Recording:
    """An archive of another collector as a recording."""
    from satline.importers import Options, Sink, load

    kind = {"sar": "sar-text", "pcp": "pcp", "atop": "atop"}.get(source.parent.name, "openmetrics")
    importer = load(kind)
    sink = Sink(path)
    sink.start()
    importer.read(str(source), Options(), sink)
    sink.finish()
    return Recording.open(path)


def table(cells: Mapping[str, Mapping[str, str]]) -> str:
    """The table; `cells` by source and report."""
    lines = ["| report | " + " | ".join(cells) + " |", "|---" * (len(cells) + 1) + "|"]
    for name in reports():
        lines.append(f"| `{name}` | " + " | ".join(one.get(name, "?") for one in cells.values()) + " |")
    return "\n".join(lines) + "\n"


def told() -> dict[str, dict[str, str]]:
    """The cells as the guide has them, by source and report."""
    inside = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in inside.splitlines()]
    if not inside:
        return {}
    head, body = rows[0][1:], rows[2:]
    return {source: {row[0].strip("`"): row[k + 1] for row in body} for k, source in enumerate(head)}


def main() -> None:
    """Write the table into the guide; a source whose data are not here keeps its column."""
    known = variables()  # a catalogue that cannot be read is told before anything is made
    assert known.derived
    page = PAGE.read_text(encoding="utf-8")
    cells: dict[str, dict[str, str]] = told() if BEGIN in page else {}
    with tempfile.TemporaryDirectory() as name:
        seen = columns_seen(monitored(Path(name) / "m.satline"))
        made = {"Linux": linux(Path(name) / "a.satline", seen, study=False)}
        made["Linux study"] = linux(Path(name) / "b.satline", seen, study=True)
        for source, archive in ARCHIVES.items():
            if SHARED.is_dir():
                made[source] = imported(Path(name) / f"{source}.satline", SHARED / archive)
        sys.path.insert(0, str(ROOT / "tests" / "unit" / "importers"))
        from scrapes import EXPORTER, real_scrapes

        if EXPORTER is not None:
            text = Path(name) / "all.prom"
            text.write_text("".join(real_scrapes(4)), encoding="utf-8")
            made["Prometheus"] = imported(Path(name) / "p.satline", text)
        made["simulated"] = simulated(Path(name) / "s.satline")
        for source, recording in made.items():
            has = available(recording)
            cells[source] = {report: cell(report, has) for report in reports()}
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    kept = ", ".join(source for source in SOURCES if source in cells and source not in made)
    print(f"not here, so kept as they were: {kept}" if kept else "made from all sources", file=sys.stderr)
    ordered = {source: cells[source] for source in SOURCES if source in cells}
    PAGE.write_text(f"{before}{BEGIN}{table(ordered)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
