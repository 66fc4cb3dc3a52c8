"""The tree of commands: daily verbs, groups, and for each command where it is and what it is for in a line.

Nothing is imported here, so that `satline --help` and completion are quick. The lines are the commands' own
short helps; a test holds the one to the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A command: its module below `satline.cli`, the function there, and what it is for."""

    module: str
    function: str
    short: str
    hidden: bool = False


@dataclass(frozen=True, eq=False)
class Group:
    """Commands under a name.

    short, text, epilog
        The line in the list of groups; what `--help` says, before and after the commands.
    default
        The command that is meant where the first word names none.
    """

    short: str
    text: str
    epilog: str
    commands: Mapping[str, Entry]
    default: str | None = None
    hidden: bool = False


@dataclass(frozen=True)
class Section:
    """Commands and groups that help lists together, under a title."""

    title: str
    entries: Mapping[str, Entry | Group]


DAILY = {
    "record": Entry("record.command", "record", "Record this host and its real users."),
    "study": Entry(
        "experiment.study", "study", "Run emulated users in steps: find where it saturates, and why."
    ),
    "diagnose": Entry("diagnose", "diagnose", "Say where a recording saturates, and what limits it."),
    "compare": Entry("compare", "compare", "Say whether a change helped: two periods at equal load."),
    "report": Entry("report", "report", "Write the full report of a recording, or show another one."),
    "import": Entry("importing", "import_command", "Convert another collector's archive to a recording."),
    "info": Entry("info", "info", "Say what a recording contains, and what it can answer."),
}

EXPERIMENT = Group(
    short="Plan and analyse experiments; list and clean up studies.",
    text="""\
Plan an experiment, determine how many runs it needs, analyse its results; list the studies that
come with Satline, and clean up after killed ones.

`satline study` runs a study.
""",
    epilog="""\b
Examples:
  satline experiment studies
  satline experiment design memory=640,1024 channels=1,2 --csv > plan.csv
  satline experiment anova results.csv --response ms --factors memory,channels
""",
    commands={
        "studies": Entry("experiment.study", "studies", "List the studies that come with Satline."),
        "clean": Entry("experiment.study", "clean", "Clean up after killed studies."),
        "design": Entry("experiment.design", "design", "Plan which combinations to run, in which order."),
        "anova": Entry("experiment.design", "anova", "Analyse results: effects, variance, significance."),
        "power": Entry("experiment.power", "power", "Say how many replicates are needed, or how long a run."),
    },
)

ANALYSE = Group(
    short="Analyse further: capacity, prediction, users, devices.",
    text="""\
Find out more from a recording than where it saturates: how many users the system carries, how it
would respond after a change, what correlates with bad response, what users wait for.

Start with `satline diagnose` and `satline report`.
""",
    epilog="""\b
Examples:
  satline analyse capacity host.satline --within 1
  satline analyse predict host.satline --what-if cpu=2x
  satline analyse states
""",
    commands={
        "reduce": Entry("analyse.reduce", "reduce", "Show a recording's variables against load."),
        "capacity": Entry("analyse.capacity", "capacity", "Say how many users get quick responses."),
        "predict": Entry(
            "analyse.predict", "predict", "Predict the response to other loads or after a change."
        ),
        "plan": Entry("analyse.plan", "plan", "Say how many users to admit, or what a load needs."),
        "expansion": Entry(
            "analyse.expansion", "expansion", "Show how much contention lengthens transactions."
        ),
        "correlate": Entry(
            "analyse.correlate", "correlate", "Find what correlates with a performance measure."
        ),
        "explain": Entry("analyse.explain", "explain", "Explain a finding: signs, false alarms, remedies."),
        "device": Entry("analyse.device", "device", "Show one device in detail, with its users."),
        "indicate": Entry("analyse.indicate", "indicate", "Show the current load in one line."),
        "states": Entry("analyse.states", "states", "Show live what users do and wait for."),
    },
)

WORKLOAD = Group(
    short="Turn recorded sessions into workloads for emulated users.",
    text="""\
Turn recorded sessions into scripts, scripts into building blocks, and blocks into a load of any
number of users.
""",
    epilog="""\b
Examples:
  satline workload record -o mon.cast         one person's work in a shell
  satline workload import-session mon.cast    a session and a workload
  satline workload fit mon.session.json       building blocks
""",
    commands={
        "record": Entry("workload", "record_session", "Record what one person types in a shell, with times."),
        "import-session": Entry("workload", "import_session", "Turn sessions into scripts with think times."),
        "fit": Entry("workload", "fit", "Turn sessions into building blocks: mix, times, order."),
        "generate": Entry("workload", "generate", "Turn building blocks into a workload, and check it."),
        "compare": Entry("workload", "compare", "Compare what emulated users typed with the blocks."),
    },
)

SIMULATE = Group(
    short="Simulate a machine under a workload, or run a simulated study.",
    text="""\
Simulate a virtual-memory time-sharing machine under a workload, or fit one to measurements.

`satline simulate MACHINE WORKLOAD` and `satline simulate STUDY` are short for `satline simulate
run …`; its --help lists the options.
""",
    epilog="""\b
Examples:
  satline simulate --list
  satline simulate 155-II-1mb cms --users 4..32/4
  satline simulate calibrate 3081D
""",
    commands={
        "run": Entry("simulate.command", "simulate", "Simulate a machine under a workload, or run a study."),
        "calibrate": Entry("simulate.calibrate", "calibrate", "Fit constants of a machine to measurements."),
    },
    default="run",
)

TRACE = Group(
    short="Replay page-reference traces under replacement policies.",
    text="Find the page-replacement policy with the fewest misses for a real program or disk.",
    epilog="""\b
Examples:
  satline trace record -o sort.trace -- sort -n numbers.txt
  satline trace import proj_0.csv -o proj.trace
  satline trace replay sort.trace --policies lru,clock,opt --sizes 64,128,10%
""",
    commands={
        "record": Entry("trace", "record", "Run a command and record its page references."),
        "import": Entry("trace", "import_trace", "Convert another tool's trace to the compact format."),
        "replay": Entry("trace", "replay", "Count the misses of replacement policies by memory size."),
    },
)

SWAPPER = Group(
    short="Swap the working sets of idle users out and back in.",
    text="""\
A daemon that swaps idle users out in order of address when memory is short, and reads their
recorded working sets back when they return, a limited number of swap sets at once.
""",
    epilog="""\b
Examples:
  satline swapper explain --policy policy.toml     what the policy means
  sudo satline swapper run policy.toml --dry-run   what would be done
  satline swapper status
""",
    commands={
        "run": Entry("swapper", "run", "Watch the users of a policy until Ctrl-C or SIGTERM."),
        "status": Entry("swapper", "status", "Show the users and their current states."),
        "explain": Entry("swapper", "explain", "Say why a user is in a state, or what a policy means."),
        "touch": Entry("swapper", "touch", "Tell the daemon that a user is about to come back."),
        "replay": Entry("swapper", "replay", "Show what another policy would have done."),
        "unit": Entry("swapper", "unit", "Print a systemd unit."),
    },
)

GUEST = Group(
    short="Virtual machines for studies: build, list, remove, shell.",
    text="""\
Small QEMU virtual machines, for which a study chooses the memory, the processors and the paging
devices.

A study with target = "guest" starts one, and deletes it afterwards.
""",
    epilog="""\b
Examples:
  sudo satline guest build                 some minutes, once
  satline study guest-paging               a study on a guest
  satline guest shell --memory '256 MB'    a shell in a guest
""",
    commands={
        "build": Entry("guest", "build", "Build the disk image and kernel that guests boot from."),
        "list": Entry("guest", "list_command", "List the stored images and snapshots of guests."),
        "remove": Entry("guest", "remove", "Delete the stored images and snapshots of guests."),
        "shell": Entry("guest", "shell", "Start a guest and log on to it."),
    },
)

RECORDING = Group(
    short="Maintain recordings: check, compact, prune, sign, annotate.",
    text="""\
Maintain recordings: check that they are intact, delete old data, replace names by pseudonyms, add
notes and logs.
""",
    epilog="""\b
Examples:
  satline recording check host.satline       is it intact; exit code 1 if not
  satline recording compact host.satline     also while it is being written
  satline recording annotate host.satline "second disk installed"
""",
    commands={
        "check": Entry("recording.files", "check", "Check that a recording is complete and intact."),
        "info": Entry("recording.files", "info", "Show a recording's own description."),
        "annotate": Entry("recording.files", "annotate", "Add a note to a recording."),
        "join": Entry("recording.join", "join", "Add an application's request log to a recording."),
        "compact": Entry("recording.files", "compact", "Convert finished segments to Parquet."),
        "prune": Entry("recording.retention", "prune", "Delete the oldest days, by age and size."),
        "seal": Entry("recording.files", "seal", "Accept a recording as it is, after damage or a change."),
        "sign": Entry("recording.files", "sign", "Sign a recording with an SSH key."),
        "verify": Entry("recording.files", "verify", "Verify a recording's signature and every file."),
        "pseudonymise": Entry(
            "recording.privacy", "pseudonymise", "Make a copy with pseudonyms instead of names."
        ),
        "reveal": Entry("recording.privacy", "reveal", "Show the names behind pseudonyms."),
        "delay-accounting": Entry(
            "recording.files", "delay_accounting", "Keep delay accounting on for a unit.", hidden=True
        ),
    },
)

HISTORY = Group(
    short="Keep recordings by retention rules; compare days.",
    text="Keep recordings: full detail for days, hourly readings for years, annotations forever.",
    epilog="""\b
Examples:
  satline history add /var/tmp/host.satline      copy it into the history
  satline history mark 2026-11-02 good           mark a good day
  satline history compare today.satline          with the last good day
""",
    commands={
        "add": Entry("history", "add", "Add recordings to the history."),
        "list": Entry("history", "list_days", "List the days and the data kept for each."),
        "show": Entry("history", "show", "Show the data kept for a day."),
        "compare": Entry("history", "compare", "Compare a day with a good one, and with what is usual."),
        "mark": Entry("history", "mark", "Mark a day as good or bad."),
        "keep": Entry("history", "keep", "Show or set the retention rules; exempt days from them."),
        "prune": Entry("history", "prune", "Delete what the retention rules do not keep."),
    },
)

GROUPS = {
    "experiment": EXPERIMENT,
    "analyse": ANALYSE,
    "workload": WORKLOAD,
    "simulate": SIMULATE,
    "trace": TRACE,
    "swapper": SWAPPER,
    "guest": GUEST,
    "recording": RECORDING,
    "history": HISTORY,
}

SETTING_UP = {
    "completion": Entry("completion", "completion", "Print the completion script for bash, zsh or fish."),
    "schema": Entry("schema", "schema", "Describe what the commands print with --json."),
    "man": Entry("manual", "man", "Write the manual pages."),
}

SECTIONS = (
    Section("Every day", DAILY),
    Section("Groups (satline GROUP --help lists the commands)", GROUPS),
    Section("Setup and reference", SETTING_UP),
)

# Names of commands from before there were groups: existing scripts keep working.
FORMER = {
    **{name: ("experiment", name) for name in ("studies", "clean", "design", "anova", "power")},
    **{name: ("analyse", name) for name in ANALYSE.commands},
    **{name: ("recording", name) for name in ("annotate", "join")},
    "record-session": ("workload", "record"),
    "calibrate": ("simulate", "calibrate"),
}
