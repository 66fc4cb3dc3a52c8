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
    "record": Entry("record.command", "record", "Record this host with its real users."),
    "study": Entry("experiment.study", "study", "Run emulated users in steps: where it saturates, and why."),
    "diagnose": Entry("diagnose", "diagnose", "Say where a recording saturates, and what holds it back."),
    "compare": Entry("compare", "compare", "Say whether a change helped: two periods at equal load."),
    "report": Entry("report", "report", "Write a recording's report, or show one of many."),
    "import": Entry("importing", "import_command", "Turn another collector's archive into a recording."),
    "info": Entry("info", "info", "Say what is in a recording, and what it can answer."),
}

EXPERIMENT = Group(
    short="Plan and analyse experiments; list and clean up studies.",
    text="""\
Plan an experiment, say how much of it is needed, analyse its results; list the studies that come
with Satline, and undo what killed ones left behind.

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
        "clean": Entry("experiment.study", "clean", "Undo what killed studies left behind."),
        "design": Entry("experiment.design", "design", "Plan which combinations to run, in which order."),
        "anova": Entry("experiment.design", "anova", "Analyse results: effects, variance, significance."),
        "power": Entry("experiment.power", "power", "Say how many replicates, or what length, are needed."),
    },
)

ANALYSE = Group(
    short="Ask a recording more: capacity, prediction, users, devices.",
    text="""\
Ask a recording more than where it saturates: how many users it carries, what would become of it
after a change, what goes with a trouble, who waits for what.

`satline diagnose` and `satline report` come first.
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
        "predict": Entry("analyse.predict", "predict", "Predict other loads, or the load after a change."),
        "plan": Entry("analyse.plan", "plan", "Say how many users may be allowed, or what a load needs."),
        "expansion": Entry("analyse.expansion", "expansion", "Say how contention stretches transactions."),
        "correlate": Entry("analyse.correlate", "correlate", "Say what moves with a measure of trouble."),
        "explain": Entry("analyse.explain", "explain", "Explain a finding: signs, false readings, remedies."),
        "device": Entry("analyse.device", "device", "Show one device in detail, with the users on it."),
        "indicate": Entry("analyse.indicate", "indicate", "Show the load now, in a line."),
        "states": Entry("analyse.states", "states", "Show what users do and wait for, as it goes."),
    },
)

WORKLOAD = Group(
    short="Turn recorded sessions into workloads for emulated users.",
    text="""\
Recorded sessions become scripts, scripts building blocks, and blocks a load of any number of
users.
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
Simulate a machine of virtual-memory time-sharing under a workload, or fit one to measurements.

`satline simulate MACHINE WORKLOAD` and `satline simulate STUDY` are those of `satline simulate
run`, whose --help has the options.
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
    short="Replay replacement policies on page-reference traces.",
    text="Which page-replacement policy misses least, on the references of a real program or disk.",
    epilog="""\b
Examples:
  satline trace record -o sort.trace -- sort -n numbers.txt
  satline trace import proj_0.csv -o proj.trace
  satline trace replay sort.trace --policies lru,clock,opt --sizes 64,128,10%
""",
    commands={
        "record": Entry("trace", "record", "Run a command and keep its page references."),
        "import": Entry("trace", "import_trace", "Read another tool's trace into the compact form."),
        "replay": Entry("trace", "replay", "Count misses of replacement policies at sizes of memory."),
    },
)

SWAPPER = Group(
    short="Swap idle users' working sets out and back as sets.",
    text="""\
A daemon that writes idle users out in order of address when storage is short, and reads their
recorded working sets when they return, a limited number of swap sets at once.
""",
    epilog="""\b
Examples:
  satline swapper explain --policy policy.toml     what the policy means
  sudo satline swapper run policy.toml --dry-run   what would be done
  satline swapper status
""",
    commands={
        "run": Entry("swapper", "run", "Watch the users of a policy until Ctrl-C or SIGTERM."),
        "status": Entry("swapper", "status", "Show the users and their states now."),
        "explain": Entry("swapper", "explain", "Say why a user is in a state, or what a policy means."),
        "touch": Entry("swapper", "touch", "Tell the daemon that a user is about to come back."),
        "replay": Entry("swapper", "replay", "Say what another policy would have done."),
        "unit": Entry("swapper", "unit", "Print a systemd unit."),
    },
)

GUEST = Group(
    short="Small machines for studies: build, list, remove, shell.",
    text="""\
Small machines of QEMU's, on which a study chooses the storage, the processors and the paging
devices.

A study with target = "guest" starts one, and throws it away.
""",
    epilog="""\b
Examples:
  sudo satline guest build                 some minutes, once
  satline study guest-paging               a study on a guest
  satline guest shell --memory '256 MB'    look into one
""",
    commands={
        "build": Entry("guest", "build", "Build the disk and the kernel that guests start from."),
        "list": Entry("guest", "list_command", "List what is kept for guests."),
        "remove": Entry("guest", "remove", "Delete what is kept for guests."),
        "shell": Entry("guest", "shell", "Start a guest and log on to it."),
    },
)

RECORDING = Group(
    short="Look after recordings: check, compact, prune, sign, annotate.",
    text="""\
Look after recordings: whether they are whole, how much of them is kept, who may read the names,
what is added to them.
""",
    epilog="""\b
Examples:
  satline recording check host.satline       is it whole; exit code 1 if not
  satline recording compact host.satline     also while it is being written
  satline recording annotate host.satline "second disk installed"
""",
    commands={
        "check": Entry("recording.files", "check", "Check that a recording is whole; say what is missing."),
        "info": Entry("recording.files", "info", "Show what a recording says of itself."),
        "annotate": Entry("recording.files", "annotate", "Add a note of yours to a recording."),
        "join": Entry("recording.join", "join", "Add an application's log of requests to a recording."),
        "compact": Entry("recording.files", "compact", "Turn finished segments into Parquet."),
        "prune": Entry("recording.retention", "prune", "Delete the oldest days, by age and size."),
        "seal": Entry("recording.files", "seal", "Accept a recording as it is, after damage or a change."),
        "sign": Entry("recording.files", "sign", "Sign a recording with an SSH key."),
        "verify": Entry("recording.files", "verify", "Verify a recording's signature and every file."),
        "pseudonymise": Entry("recording.privacy", "pseudonymise", "Make a copy without names."),
        "reveal": Entry("recording.privacy", "reveal", "Give back the names behind pseudonyms."),
        "delay-accounting": Entry(
            "recording.files", "delay_accounting", "Hold delay accounting on for a unit.", hidden=True
        ),
    },
)

HISTORY = Group(
    short="Keep recordings under rules; compare a day with good ones.",
    text="Keep recordings: full detail for days, hourly readings for years, annotations for ever.",
    epilog="""\b
Examples:
  satline history add /var/tmp/host.satline      a copy goes into the history
  satline history mark 2026-11-02 good           that was a good day
  satline history compare today.satline          against the last good day
""",
    commands={
        "add": Entry("history", "add", "Bring recordings into the history."),
        "list": Entry("history", "list_days", "List days and what is kept of them."),
        "show": Entry("history", "show", "Show what is kept of a day."),
        "compare": Entry("history", "compare", "Compare a day with a good one, and with what is usual."),
        "mark": Entry("history", "mark", "Say that a day was good or bad."),
        "keep": Entry("history", "keep", "Show or set the rules; keep days whatever the rules."),
        "prune": Entry("history", "prune", "Delete what the rules do not keep."),
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
    "completion": Entry("completion", "completion", "Print what makes bash, zsh or fish complete commands."),
    "man": Entry("manual", "man", "Write the manual pages."),
}

SECTIONS = (
    Section("Every day", DAILY),
    Section("Groups (satline GROUP --help lists the commands)", GROUPS),
    Section("Setting up", SETTING_UP),
)

# Names that were on top of `satline` before there were groups: scripts go on working.
FORMER = {
    **{name: ("experiment", name) for name in ("studies", "clean", "design", "anova", "power")},
    **{name: ("analyse", name) for name in ANALYSE.commands},
    **{name: ("recording", name) for name in ("annotate", "join")},
    "record-session": ("workload", "record"),
    "calibrate": ("simulate", "calibrate"),
}
