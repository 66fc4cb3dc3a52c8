"""Makes the files that a workload reads.

Usage: make_files.py DIRECTORY COUNT BYTES_EACH NAME [--text]

Files are DIRECTORY/NAME-1 … NAME-COUNT. Their content is random, so that no device can shrink it, or with
--text lines of words. They are written through to the disk and dropped from storage, so that the first
read is cold.
"""

import argparse
import os
import pathlib
import random
import sys

WORDS = """
the load of a system is the number of its active users storage paging channel drum queue dispatch priority
think time response quantum working set steal reference frame trim swap lock spin defer
""".split()  # noqa: SIM905 - words read better as words


def text(random_stream: random.Random, length: int) -> bytes:
    """About `length` bytes of lines of words."""
    lines: list[str] = []
    size = 0
    while size < length:
        line = " ".join(random_stream.choices(WORDS, k=12)) + f" {random_stream.randrange(10**6)}"
        lines.append(line)
        size += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("count", type=int)
    parser.add_argument("bytes_each", type=int)
    parser.add_argument("name")
    parser.add_argument("--text", action="store_true")
    given = parser.parse_args()
    for number in range(1, given.count + 1):
        random_stream = random.Random(f"{given.name}-{number}")
        make = text if given.text else random.Random.randbytes
        content = make(random_stream, given.bytes_each)
        with (given.directory / f"{given.name}-{number}").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
