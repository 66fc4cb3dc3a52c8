"""Writes the rows that the Rust reader's test expects."""

import sys

from satline.recording import RecordingWriter

with RecordingWriter(sys.argv[1], "study") as writer:
    writer.write_rows("event", [{"time_ns": 7, "monotonic_ns": 8, "text": "old <b>\x1b[2J", "value": 0.5}])
    writer.write_rows(
        "event", [{"time_ns": n, "monotonic_ns": n, "step": n * n, "text": "x"} for n in range(40)]
    )
