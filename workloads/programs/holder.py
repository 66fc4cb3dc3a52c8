"""Holds a private working set and touches all of it, or a part, at every line: a resident program.

Usage: holder.py --megabytes N      then, at its prompt:
    touch                           touches the whole set
    touch KILOBYTES [STEPS]         touches its first part, then computes for so many steps of the interpreter
    read KILOBYTES                  reads a piece of a file: the interpreter's own program, at a random place
    quit

Every page of the set is written on each touch, so that a page taken in the meantime must come back from the
paging device, and one that is to be taken again must first be written there.
"""

import argparse
import os
import random
import sys
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def touch(pages: bytearray, value: int, end: int, steps: int) -> str:
    # A strided slice walks the pages inside the interpreter: nearly no processor time beside the faults.
    seen = sum(pages[:end:PAGE_BYTES])
    pages[:end:PAGE_BYTES] = bytes([value]) * len(range(0, end, PAGE_BYTES))
    for step in range(steps):
        seen += step & 1
    return f"touched {len(range(0, end, PAGE_BYTES))} pages, sum {seen}"


def read(kilobytes: int) -> str:
    with Path(sys.executable).open("rb", buffering=0) as file:
        room = max(os.fstat(file.fileno()).st_size - (kilobytes << 10), 0)
        file.seek(random.randint(0, room))
        return f"read {len(file.read(kilobytes << 10))} bytes"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=24)
    arguments = parser.parse_args()
    # Random content: a page must not be merged, or shrink to nothing on a compressed paging device.
    pages = bytearray(os.urandom(arguments.megabytes << 20))
    touches = 0
    while True:
        sys.stdout.write("holder> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        match line.split():
            case ["quit"]:
                return 0
            case [] if not line:
                return 0
            case ["read", kilobytes]:
                answer = read(int(kilobytes))
            case ["touch", kilobytes, *steps]:
                end = min(int(kilobytes) << 10, len(pages))
                answer = touch(pages, touches & 255, end, int(steps[0]) if steps else 0)
                touches += 1
            case _:
                answer = touch(pages, touches & 255, len(pages), 0)
                touches += 1
        sys.stdout.write(f"{answer}, touch {touches}\n")


if __name__ == "__main__":
    sys.exit(main())
