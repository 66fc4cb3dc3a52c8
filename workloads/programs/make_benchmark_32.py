"""Makes benchmark-32.toml: 32 scripts whose lines together have the mix of the 32-user benchmark of [AW79].

    python make_benchmark_32.py > ../benchmark-32.toml

The published shares add up to 94.2 %; the rest (here "other", 5.8 %) is stated by nobody. Of 1,000 lines each class gets
its share; one script is one session: log-on, streams, work, log-off, and again, begun somewhere in it.
"""

# ruff: noqa: E501 - the lines of the workload are as long as they are

import random

SCRIPTS = 32
# Lines of 1,000.
COMPILE, ASSEMBLE, EDITS, EDIT_LINES = 28, 12, 52, 404
RUNS, DATA_LINES, FILES, OTHER = 39, 214, 97, 58
SHELL, EDITOR, PROGRAM = r"ready> $", r"\* $", r"data\? $"

HEAD = """\
# The mix of input lines of the 32-user benchmark of [AW79], as lines to a Unix shell, ed, two compilers and a small program.
# Made by programs/make_benchmark_32.py: of 1,000 lines in 32 scripts each class has its published share. The published
# shares add up to 94.2 %: the class "other" is the rest, and its lines are ours. So are typing and the distribution of
# think times, of which the mean alone is published; think and type together have a mean of 16 s there.
# Edits go to temporary copies. A user is one script, dealt in turn: all are there from 32 users on. A script is one session,
# begun somewhere in it; a run in which every user types 31 lines has the mix, a shorter one roughly.
name = "benchmark-32"
description = "Editing, compiling, running programs, file work: the published mix of 32 users on a time-sharing system."
shell = ["bash", "--noprofile", "--norc", "-i"]
prompt = "marks"
timeout_seconds = 120
requires = ["bash", "ed", "awk", "cp", "rm", "ls", "wc", "head", "cat", "cmp", "date", "uname", "id"]
setup = [
    'cd "$SATLINE_WORK"',
    '''awk 'BEGIN { for (i = 1; i <= 300; i++) print "note " i " of the drum and the storage" }' > a; cp a b; cp a c''',
    'cp "$SATLINE_SHARE/programs/benchmark_32_calc.py" calc.py; cp calc.py p.py; cp "$SATLINE_SHARE/programs/crunch.py" q.py',
    'echo "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }" > m.c; echo "BEGIN { exit }" > m.awk',
    '. "$SATLINE_SHARE/programs/benchmark_32.sh"',
]
typing = { characters_per_second = 2.5, variation = 0.5 }
think = { distribution = "exponential", mean_seconds = 12.0 }
"""

EDIT_INPUT = [
    "/note {random:100:289}/;+8p", "{random:10:290}s/the drum/disk/p", "{random:10:240};+{pick:6|7|8}p",
    "?note {random:1:9}?;+7p", "{random:1:250}s/storage/core/", "{random:10:250};+1d", "/of the drum/;+6n", "{random:10:240};+9s/and/&/p",
    "{random:10:90};+1m{random:201:240}", ".s/of the drum/of a drum/p", "{random:5:240};+1t{random:10:99}",
    "{random:10:240};+7s/the/a/gp", "?storage?;+{pick:6|7|8}p", "{random:100:240}s/$/ {random:1000:9999}/",
    "/the storage/;+9n",
]  # fmt: skip
FILE_LINES = [
    "ls -l", "wc a b c", "cp a d", "rm -f d", "head -2 b", "ls", "cmp a b", "cat m.c", "cp b lib.b", "tail -n2 c",
    "wc -l *.py",
]  # fmt: skip
OTHER_LINES = ["date", "uname -a", "id -un", "pwd", "jobs", "echo $$"]


def quoted(text):
    return "'" + text + "'" if '"' in text or "\\" in text else '"' + text + '"'


def command(klass, line, prompt):
    shown = f'[[script.command]]\nclass = "{klass}"\ninput = {quoted(line)}\n'
    return shown + (f"prompt = {{ pattern = {quoted(prompt)} }}\n" if prompt else "")


def spread(total, parts):
    """`total` in so many whole parts, as equal as can be."""
    return [(index + 1) * total // parts - index * total // parts for index in range(parts)]


def draw(random_, choices, count):
    """Each choice equally often, as nearly as can be, in any order."""
    drawn = [choices[index % len(choices)] for index in range(count)]
    random_.shuffle(drawn)
    return drawn


def main():
    random_ = random.Random(1979)
    edit_lines = iter(draw(random_, EDIT_INPUT, EDIT_LINES - EDITS))
    # The last line of a session with the editor is its `Q`, that of a program its `e`.
    edits = [
        [("edit", f"edit {'abc'[number % 3]}", EDITOR)]
        + [("edit input", next(edit_lines), EDITOR) for _ in range(lines - 1)]
        + [("edit input", "Q", SHELL)]
        for number, lines in enumerate(spread(EDIT_LINES, EDITS))
    ]
    runs = [
        [("run", "calc", PROGRAM)]
        + [("data", "{random:10000:999999}.{random:10:99}", PROGRAM) for _ in range(lines - 1)]
        + [("data", "e", SHELL)]
        for lines in spread(DATA_LINES, RUNS)
    ]
    compiles = [[("compile", f"comp {'pq'[number % 2]}.py", SHELL)] for number in range(COMPILE)]
    compiles += [[("compile", "asm m", SHELL)] for _ in range(ASSEMBLE)]
    files = [[("files", line, SHELL)] for line in draw(random_, FILE_LINES, FILES)]
    others = [[("other", line, SHELL)] for line in draw(random_, OTHER_LINES, OTHER)]
    scripts = [[] for _ in range(SCRIPTS)]
    for works in (edits, runs, compiles, files, others):
        # Longest first, each to the script that has least: scripts of nearly equal length.
        random_.shuffle(works)
        for work in sorted(works, key=len, reverse=True):
            min(scripts, key=lambda script: sum(map(len, script))).append(work)
    print(HEAD)
    for number, works in enumerate(scripts, start=1):
        random_.shuffle(works)
        # Scripts begin at different places of a session, so that a short run is nearer to the mix: what is left of the
        # session before is done in the first shell, whose prompt has marks.
        at = (number - 1) * len(works) // SCRIPTS
        lines = [
            (klass, line, None if end == SHELL else end) for work in works[at:] for klass, line, end in work
        ]
        lines += [("log", "logon", SHELL), ("streams", f"exec {number % 6 + 3}<{'abc'[number % 3]}", SHELL)]
        lines += [line for work in works[:at] for line in work]
        lines.append(("log", "exit", None))
        print(f'[[script]]\nname = "user-{number:02}"\norder = "sequence"\n')
        print("\n".join(command(*line) for line in lines))


main()
