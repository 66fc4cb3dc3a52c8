"""Holds a private working set and touches all of it again at every line: a resident interactive program.

Usage: holder.py --megabytes N      then, at its prompt: touch | quit

Every page of the set is written on each touch, so that a page taken in the meantime must come back from the
paging device, and one that is to be taken again must first be written there.
"""

import argparse
import os
import sys

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=24)
    arguments = parser.parse_args()
    # Random content: a page must not be merged, or shrink to nothing on a compressed paging device.
    pages = bytearray(os.urandom(arguments.megabytes << 20))
    touches = 0
    while True:
        sys.stdout.write("holder> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line or line.strip() == "quit":
            return 0
        # A strided slice walks the pages inside the interpreter: nearly no processor time beside the faults.
        seen = sum(pages[::PAGE_BYTES])
        pages[::PAGE_BYTES] = bytes([touches & 255]) * len(range(0, len(pages), PAGE_BYTES))
        touches += 1
        sys.stdout.write(f"touched {len(pages) // PAGE_BYTES} pages, sum {seen}, touch {touches}\n")


if __name__ == "__main__":
    sys.exit(main())
