"""Keep of a plant's recording what a test of rules needs: a small file by table, without names of other work.

    python benches/plants/excerpt.py RESULTS/arm-501/host.satline tests/unit/diagnosis/recorded/arm

Of users the plant's, root and Satline's own are kept, of control groups the plant's. Locks, holders, tasks
and events are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from plants import MARK  # noqa: E402

from satline.recording import Recording  # noqa: E402

# By table the rows to keep.
TABLES = {
    "system": "TRUE",
    "processor": "TRUE",
    "device": "NOT starts_with(device, 'ram') AND device_kind != 'network'",
    "user": "regexp_matches(\"user\", '^(root|_.*|[2-9][0-9]{3})$')",
    "cgroup": f"contains(cgroup, '{MARK}') OR cgroup = 'load'",
    "swapper": "TRUE",
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("recording", type=Path)
    options.add_argument("place", type=Path)
    told = options.parse_args()
    told.place.mkdir(parents=True, exist_ok=True)
    recording = Recording.open(told.recording)
    connection = recording.connect()
    host, system = (recording.description.get(name, {}) for name in ("host", "system_under_test"))
    kept = {
        "host": {name: host[name] for name in ("page_bytes", "processors") if name in host},
        "system_under_test": {name: system[name] for name in ("cgroup", "limits") if name in system},
    }
    (told.place / "description.json").write_text(json.dumps(kept, indent=1) + "\n")
    for table, where in TABLES.items():
        rows = connection.sql(f'SELECT * FROM "{table}" WHERE {where}').to_arrow_table()
        if not rows.num_rows:
            continue
        rows = rows.select([name for name in rows.column_names if rows[name].null_count < rows.num_rows])
        if table == "user" and "cgroup" in rows.column_names:
            own = pc.match_substring_regex(rows["cgroup"], f"{MARK}|^load$")
            place = rows.column_names.index("cgroup")
            rows = rows.set_column(
                place, "cgroup", pc.if_else(own, rows["cgroup"], pa.scalar(None, pa.string()))
            )
        pq.write_table(rows, told.place / f"{table}.parquet", compression="zstd", compression_level=19)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
