"""A kernel that holds real objects, as a notebook's does, and works on part of them at every line.

Usage: kernel.py [--megabytes N] [--part P] [--same P] [--shape objects|pages] [--seed N]
then, at its prompt: work | quit

The heap is a row of frames, each a table of records built one after the other: about 26 pages, in four or
five runs, since the interpreter keeps objects of one size together. A line of work reads `--part` of the
frames and counts in each record. `--same` of those are the same at every line; the rest are others each time.
With `--shape pages` a frame is five pages of plain storage, without objects.
"""

import argparse
import gc
import os
import random
import sys

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
RECORDS = 222


class Objects:
    """Frames of records: a dictionary each, with a list of floats, a text and a number of its own."""

    PAGES = 26

    def __init__(self, frames, seed):
        values = random.Random(seed)
        self._frames = [
            [
                {
                    "key": f"{frame}-{record}-{values.getrandbits(64):x}",
                    "count": 0,
                    "row": [values.random(), frame / 7],
                }
                for record in range(RECORDS)
            ]
            for frame in range(frames)
        ]

    def work(self, frame):
        total = 0.0
        for record in self._frames[frame]:
            record["count"] += 1
            total += record["row"][0] * len(record["key"])
        return total


class Pages:
    """Frames of pages that nothing compresses."""

    PAGES = 5

    def __init__(self, frames, seed):
        del seed
        self._pages = bytearray()
        for _ in range(frames):
            self._pages += os.urandom(self.PAGES * PAGE_BYTES)

    def work(self, frame):
        total = 0
        for page in range(self.PAGES):
            at = (frame * self.PAGES + page) * PAGE_BYTES
            total += self._pages[at]
            self._pages[at] = total & 255
        return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=150)
    parser.add_argument("--part", type=float, default=0.12)
    parser.add_argument("--same", type=float, default=0.9)
    parser.add_argument("--shape", choices=["objects", "pages"], default="objects")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    shape = Objects if arguments.shape == "objects" else Pages
    frames = (arguments.megabytes << 20) // (shape.PAGES * PAGE_BYTES)
    # The collector would walk the whole heap from time to time: large services put theirs aside, as here.
    gc.disable()
    heap = shape(frames, arguments.seed)
    choice = random.Random(arguments.seed)
    order = list(range(frames))
    choice.shuffle(order)
    size = round(frames * arguments.part)
    regular, seldom = order[: round(size * arguments.same)], order[size:]
    lines = 0
    while True:
        sys.stdout.write("kernel> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line or line.strip() == "quit":
            return 0
        chosen = sorted(regular + choice.sample(seldom, size - len(regular)))
        total = sum(map(heap.work, chosen))
        lines += 1
        sys.stdout.write(f"worked on {len(chosen)} frames, total {total:.3f}, line {lines}\n")


if __name__ == "__main__":
    sys.exit(main())
