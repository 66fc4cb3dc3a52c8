"""The table of kinds: for each its type and what it is. Nothing of them is imported here.

A kind is named after its command: the command's words, then what an option asks for instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of document.

    type
        Module and name of the class whose fields are the keys; below this package where it begins with a dot.
    about
        What it is, a line.
    command
        What prints it.
    """

    type: str
    about: str
    command: str


KINDS = {
    "diagnose": Kind(
        ".analyses:Diagnosed",
        "Where it saturates, what limits it, how certain that is.",
        "satline diagnose RECORDING",
    ),
    "study": Kind(
        ".experiments:Studied", "What a study of this host found, and where it is.", "satline study STUDY"
    ),
    "study-explain": Kind(
        ".experiments:Explained",
        "Why each step of a study was run.",
        "satline study --explain RECORDING",
    ),
    "study-design": Kind(
        ".experiments:Designed",
        "The runs of a designed study, and their analysis.",
        "satline study STUDY with factors, satline simulate run STUDY with factors",
    ),
    "study-design-interrupted": Kind(
        ".experiments:Interrupted",
        "How far an interrupted design has come.",
        "satline study STUDY with factors, interrupted",
    ),
    "compare": Kind(
        "satline.comparison:Comparison",
        "Two periods at equal load: did a change help.",
        "satline compare BEFORE AFTER",
    ),
    "report": Kind(".analyses:ReportTable", "One report as a table.", "satline report REPORT RECORDING"),
    "report-parts": Kind(
        ".analyses:ReportParts",
        "A report that consists of others.",
        "satline report REPORT RECORDING, of one with parts",
    ),
    "import": Kind(".recordings:Imported", "What was converted to a recording.", "satline import SOURCE"),
    "import-formats": Kind(
        ".recordings:ImportFormats", "The formats that can be converted.", "satline import --formats"
    ),
    "info": Kind(
        ".recordings:Info", "What a recording contains, and what it can answer.", "satline info RECORDING"
    ),
    "experiment-studies": Kind(
        ".experiments:Studies", "The studies that come with Satline.", "satline experiment studies"
    ),
    "experiment-clean": Kind(
        ".experiments:Cleaned", "What was cleaned up after killed studies.", "satline experiment clean"
    ),
    "experiment-design": Kind(
        ".experiments:Plan", "Which combinations to run, in which order.", "satline experiment design"
    ),
    "experiment-anova": Kind(
        ".experiments:Anova", "Effects, variance and significance.", "satline experiment anova TABLE"
    ),
    "experiment-anova-by": Kind(
        ".experiments:AnovaBy", "The same for each class.", "satline experiment anova TABLE --by COLUMN"
    ),
    "experiment-power": Kind(
        ".experiments:Power", "How many replicates a difference needs.", "satline experiment power"
    ),
    "experiment-power-window": Kind(
        ".experiments:PowerWindow",
        "How long each run must be.",
        "satline experiment power --autocorrelation",
    ),
    "analyse-reduce": Kind(
        ".analyses:Reduced", "A recording's variables against load.", "satline analyse reduce RECORDING"
    ),
    "analyse-capacity": Kind(
        ".analyses:CapacityTold",
        "For how many users enough reactions are in time.",
        "satline analyse capacity RECORDING",
    ),
    "analyse-predict": Kind(
        ".analyses:Predicted",
        "Throughput and response at other loads, or after a change.",
        "satline analyse predict RECORDING",
    ),
    "analyse-predict-network": Kind(
        "satline.prediction.network_answer:NetworkAnswer",
        "The same of a network that a file describes.",
        "satline analyse predict --network FILE",
    ),
    "analyse-predict-table": Kind(
        "satline.scalability:Scalability",
        "The laws of a load test's table, the verdict, and throughput at other loads.",
        "satline analyse predict TABLE",
    ),
    "analyse-plan-allowance": Kind(
        ".analyses:AllowanceTold", "How much load to admit.", "satline analyse plan RECORDING --saturated"
    ),
    "analyse-plan-demand": Kind(
        ".analyses:DemandTold", "What a load needs.", "satline analyse plan RECORDING --variable --at"
    ),
    "analyse-expansion": Kind(
        "satline.comparison.expansion:Expansion",
        "How many times longer transactions take than they would alone.",
        "satline analyse expansion RECORDING",
    ),
    "analyse-correlate": Kind(
        ".analyses:Correlated",
        "What correlates with a performance measure.",
        "satline analyse correlate RECORDING --pqm",
    ),
    "analyse-correlate-list": Kind(
        ".analyses:SeriesList", "The series of a recording.", "satline analyse correlate RECORDING --list"
    ),
    "analyse-correlate-layers": Kind(
        ".analyses:LayersTold",
        "Whose share of a variable it is, over time.",
        "satline analyse correlate RECORDING --layers",
    ),
    "analyse-explain": Kind(".analyses:RuleTold", "What a finding is.", "satline analyse explain FINDING"),
    "analyse-explain-list": Kind(
        ".analyses:RuleList", "The findings there may be.", "satline analyse explain --list"
    ),
    "analyse-device": Kind(
        "satline.present.device:DeviceDetail",
        "One device in detail, with its users.",
        "satline analyse device NAME RECORDING",
    ),
    "analyse-indicate": Kind(
        "satline.live:LoadNow", "The load now; with --watch a line each.", "satline analyse indicate"
    ),
    "analyse-states": Kind(
        "satline.live:UserStates",
        "What users do and wait for; without --once a line each.",
        "satline analyse states",
    ),
    "workload-import-session": Kind(
        ".workloads:SessionsImported",
        "Sessions, and the workload that repeats them.",
        "satline workload import-session FILE",
    ),
    "workload-fit": Kind(".workloads:Fitted", "Building blocks of sessions.", "satline workload fit SESSION"),
    "workload-generate": Kind(
        ".workloads:Generated",
        "A workload, and how what it would type compares with the blocks.",
        "satline workload generate BLOCKS",
    ),
    "workload-compare": Kind(
        ".workloads:Compared",
        "How what emulated users typed compares with the blocks.",
        "satline workload compare BLOCKS RECORDING",
    ),
    "simulate-run": Kind(
        ".simulations:Simulated",
        "The measures of a simulated machine, with intervals.",
        "satline simulate run MACHINE WORKLOAD",
    ),
    "simulate-record": Kind(
        ".simulations:Recorded",
        "One recorded run of a simulated machine.",
        "satline simulate run MACHINE WORKLOAD --record DIR",
    ),
    "simulate-study": Kind(".simulations:Study", "A simulated study.", "satline simulate run STUDY"),
    "simulate-list": Kind(".simulations:Shipped", "What comes with Satline.", "satline simulate run --list"),
    "simulate-calibrate": Kind(
        ".simulations:Calibrated",
        "Constants fitted to measurements.",
        "satline simulate calibrate FILE",
    ),
    "trace-import": Kind(".simulations:Trace", "A trace that was converted.", "satline trace import SOURCE"),
    "trace-import-formats": Kind(
        ".simulations:TraceFormats", "The formats that can be converted.", "satline trace import --formats"
    ),
    "trace-record": Kind(
        ".simulations:TraceRecorded", "A trace that was recorded.", "satline trace record COMMAND"
    ),
    "trace-replay": Kind(
        ".simulations:Replayed", "Misses by policy and memory size.", "satline trace replay TRACE"
    ),
    "trace-replay-policies": Kind(
        ".simulations:Policies", "The policies there are.", "satline trace replay --list"
    ),
    "swapper-status": Kind("satline.swapper:Status", "The users and their states.", "satline swapper status"),
    "swapper-replay": Kind(
        ".simulations:SwapperReplayed",
        "What each policy would have done.",
        "satline swapper replay RECORDING POLICY",
    ),
    "guest-list": Kind(".recordings:Guests", "What is stored for guests.", "satline guest list"),
    "recording-check": Kind(
        ".recordings:Checked", "Whether a recording is complete and intact.", "satline recording check"
    ),
    "recording-info": Kind(
        ".recordings:Description", "A recording's own description.", "satline recording info"
    ),
    "recording-join": Kind(
        ".recordings:Joined", "What of a request log was added.", "satline recording join RECORDING LOG"
    ),
    "recording-compact": Kind(
        ".recordings:Compacted", "What was converted to Parquet.", "satline recording compact"
    ),
    "recording-prune": Kind(
        ".recordings:RecordingPruned", "Which days were deleted, or would be.", "satline recording prune"
    ),
    "recording-pseudonymise": Kind(
        ".recordings:Copied", "A copy with pseudonyms.", "satline recording pseudonymise RECORDING COPY"
    ),
    "recording-reveal": Kind(
        ".recordings:Revealed", "The names behind pseudonyms.", "satline recording reveal RECORDING"
    ),
    "history-add": Kind(
        ".recordings:HistoryAdded", "What became of each recording.", "satline history add RECORDING"
    ),
    "history-list": Kind(
        ".recordings:HistoryDays", "The days, and what is kept of each.", "satline history list"
    ),
    "history-keep": Kind(".recordings:HistoryRules", "The retention rules.", "satline history keep"),
    "history-prune": Kind(
        ".recordings:HistoryPruned", "What the rules let go, or would.", "satline history prune"
    ),
    "history-compare": Kind(
        "satline.history:HistoryComparison",
        "A day against a good one, and against what is usual.",
        "satline history compare TODAY, satline compare TODAY --with DAY",
    ),
}
