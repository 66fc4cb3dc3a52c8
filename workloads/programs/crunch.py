"""A small numerical program, as users run them: the number below N with the longest Collatz chain.

Usage: crunch.py N
"""

import sys


def longest_chain_below(limit: int) -> tuple[int, int]:
    """The number below `limit` whose chain n → n/2 or 3n + 1 takes most steps to reach 1, and those steps."""
    best, best_steps = 1, 0
    for start in range(1, limit):
        number, steps = start, 0
        while number != 1:
            number = number * 3 + 1 if number & 1 else number >> 1
            steps += 1
        if steps > best_steps:
            best, best_steps = start, steps
    return best, best_steps


if __name__ == "__main__":
    bound = int(sys.argv[1])
    number, steps = longest_chain_below(bound)
    print(f"longest chain below {bound}: {number} takes {steps} steps")
