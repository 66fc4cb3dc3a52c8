"""Users at terminals for a machine that has nothing but Python: what they saw goes into a file.

python3 typed.py KINDS COUNT SECONDS LINES FILE
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from emulated import crowd, run


def main() -> None:
    """Have so many of these kinds (`bash,dash`) type, and write the lines that were answered."""
    kinds, count, seconds, lines, file = sys.argv[1:]
    users = crowd(int(count), kinds.split(","), (0.2, 1.0), seed=1)
    answered = run(users, float(seconds), int(lines))
    Path(file).write_text(json.dumps([dataclasses.asdict(line) for line in answered]))


if __name__ == "__main__":
    main()
