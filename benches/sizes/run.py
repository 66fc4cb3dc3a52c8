"""Does the study of `make study` saturate within its limits on smaller and larger machines than this one?

    python benches/sizes/run.py [--study this-host] [--out DIR] [--seed N]

The study loads one processor, whatever the host has. So what a slower or faster one is to it, a quota and a
second processor are: a quarter and half of one (a small cloud instance, an old laptop), one, and two (a fast
workstation). Each is run once; recordings that are in DIR already are judged anew, not made. A size is within
the limits if the interval of its load of saturation ends below the most users, and begins above the lightest
load that was seen. Needs root and three minutes a size.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

ROOT = Path(__file__).resolve().parents[2]
SIZES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a quarter of a processor", {"processors": 1, "cpu_quota_processors": 0.25}),
    ("half a processor", {"processors": 1, "cpu_quota_processors": 0.5}),
    ("one processor", {"processors": 1}),
    ("two processors", {"processors": 2}),
)


def recorded(name: str, limits: dict[str, Any], study: Path, out: Path, seed: int) -> Path:
    """The recording of one size; it is made if it is not there."""
    path = out / f"{name.replace(' ', '-')}.satline"
    if path.is_dir():
        return path
    described = tomllib.loads(study.read_text(encoding="utf-8"))
    described["limits"] = {**described.get("limits", {}), **limits}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "sized.toml"
        file.write_bytes(tomli_w.dumps(described).encode())
        command = [sys.executable, "-m", "satline.cli", "study", str(file), "--out", str(path)]
        subprocess.run([*command, "--seed", str(seed)], check=True, stdout=sys.stderr)
    return path


def judged(path: Path) -> dict[str, Any]:
    """What the diagnosis says of it."""
    command = [sys.executable, "-m", "satline.cli", "diagnose", str(path), "--json"]
    said: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return said


def main() -> None:
    """Run the sizes and print their table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--study", default="this-host", help="which of studies/ (this-host)")
    parser.add_argument("--out", type=Path, default=Path("sizes"), help="directory of the recordings (sizes)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the users (1)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    study = ROOT / "studies" / f"{options.study}.toml"
    most = tomllib.loads(study.read_text(encoding="utf-8"))["load"]["most_users"]
    rows = []
    for name, limits in SIZES:
        said = judged(recorded(name, limits, study, options.out, options.seed))
        verdict = said["saturation"]
        at = verdict["at"] or verdict["bend"]
        inside = at is not None and at["high"] is not None and verdict["range_low"] <= at["low"]
        rows.append((name, at, inside and at["high"] < most, said["headline"]))
    for name, at, inside, headline in rows:
        place = "-" if at is None else f"{at['value']:.1f} [{at['low']:.1f}, {at['high'] or most:.1f}]"
        print(f"{name:<26}{place:<22}{'within the limits' if inside else 'NOT within the limits'}")
        print(f"  {headline}")
    print(f"within the limits (up to {most} users): {sum(r[2] for r in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
