"""Reconciling: what several answers say of one recording, as one story, or why they differ.

Each two answers are held against each other in two respects: the load, by whether the intervals overlap,
and what comes first, by which components a station of the model may stand for. Where they differ, a reason
is given only if the numbers at hand show that it holds; where none does, that is said too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satline.diagnosis import Diagnosis, diagnose
from satline.errors import InputError
from satline.prediction import Prediction, predict
from satline.reconcile._answers import Allowed, Answers, planted, statements
from satline.reconcile._reasons import first_reasons, load_reasons
from satline.reconcile._results import Agreement, By, Reason, Relation, Said, Story
from satline.reduction import Reduction, Source

__all__ = [
    "Allowed",
    "Answers",
    "Reason",
    "Relation",
    "Said",
    "Story",
    "planted",
    "reconcile",
    "story",
    "weakened",
]

# Names under which the commands are known to the reader.
COMMANDS = {
    "diagnose": "satline diagnose",
    "predict": "satline analyse predict",
    "capacity": "satline analyse capacity",
    "plan": "satline analyse plan",
    "planted": "the recording's description",
}


def story(recording: Source, reduction: Reduction, teller: By, answers: Answers) -> Story:
    """Reconciles the answers of one recording; a diagnosis or a prediction that is not there is made.

    Parameters
    ----------
    reduction
        Of this recording, with all its variables.
    """
    diagnosis, prediction = answers.diagnosis, answers.prediction
    if diagnosis is None:
        try:
            diagnosis = diagnose(recording, reduction)
        except InputError:  # too little was recorded: there is one answer fewer
            diagnosis = None
    if prediction is None:
        try:
            prediction = predict(recording, reduction)
        except InputError:
            prediction = None
    stated = answers.planted or planted(recording.description)
    return reconcile(replace(answers, diagnosis=diagnosis, prediction=prediction, planted=stated), teller)


def reconcile(answers: Answers, teller: By) -> Story:
    """How the answers relate, and what to tell whoever reads the one of `teller`."""
    said = statements(answers)
    relations: list[Relation] = []
    by = {one.by: one for one in said}
    measured = by.get("diagnose")
    if measured is not None:
        for other in said:
            if other.by == "predict":
                relations += _predicted(measured, other, answers)
            elif other.by in ("capacity", "plan"):
                relations.append(_question(measured, other))
            elif other.by == "planted":
                relations.append(_planted(measured, other))
    compared = [r for r in relations if r.agreement != "unknown"]
    agrees = all(r.agreement != "different" for r in compared) if compared else None
    return Story(teller, said, tuple(relations), agrees, _lines(teller, by, relations))


def _predicted(measured: Said, model: Said, answers: Answers) -> list[Relation]:
    diagnosis, prediction = answers.diagnosis, answers.prediction
    assert diagnosis is not None
    assert prediction is not None
    return [
        _load(measured, model, diagnosis, prediction),
        _first(measured, model, diagnosis, prediction),
    ]


def _load(measured: Said, model: Said, diagnosis: Diagnosis, prediction: Prediction) -> Relation:
    def relation(agreement: Agreement, reason: Reason, words: str, more: Sequence[Reason] = ()) -> Relation:
        return Relation("diagnose", "predict", "load", agreement, reason, words, tuple(more) or (reason,))

    base = prediction.base
    assert base is not None
    if measured.load_axis != model.load_axis:
        return relation("unknown", "other axis", f"it counts {model.load_axis.replace('_', ' ')}")
    # Like is held against like: the bend of the predicted curve, or where its asymptotes cross.
    places = (base.bend_users, base.saturation_users)
    if measured.load is not None:
        at = measured.load
        if any(at.low <= place.high and place.low <= at.high for place in places):
            return relation("same", "intervals overlap", "the intervals overlap")
        found = load_reasons(measured, diagnosis, prediction)
        words = found[0][1] if found else "why is not known: what was measured counts for more"
        codes: list[Reason] = [code for code, _ in found]
        return relation("different", codes[0] if codes else "not known", words, codes)
    if measured.beyond is not None:
        if base.saturation_users.high >= measured.beyond:
            words = f"that lies beyond the {measured.beyond:.3g} seen"
            return relation("same", "beyond the loads seen", words)
        found = load_reasons(measured, diagnosis, prediction)
        words = found[0][1] if found else "why is not known: what was measured counts for more"
        codes = [code for code, _ in found]
        return relation("different", codes[0] if codes else "not known", words, codes)
    return relation("unknown", "one says nothing", "what was measured does not tell where it saturates")


def _first(measured: Said, model: Said, diagnosis: Diagnosis, prediction: Prediction) -> Relation:
    def relation(agreement: Agreement, reason: Reason, words: str, more: Sequence[Reason] = ()) -> Relation:
        return Relation(
            "diagnose", "predict", "bottleneck", agreement, reason, words, tuple(more) or (reason,)
        )

    if not measured.components or not model.components:
        return relation("unknown", "one says nothing", "what was measured names no bottleneck")
    alike = set(measured.components) & set(model.components)
    if alike:
        if alike == {"storage"}:
            return relation("same", "paging is a demand", "it takes paging as a demand on that device")
        return relation("same", "same component", "it names the same")
    found = first_reasons(measured, diagnosis, prediction)
    words = found[0][1] if found else "why is not known: what was measured counts for more"
    codes: list[Reason] = [code for code, _ in found]
    return relation("different", codes[0] if codes else "not known", words, codes)


def _question(measured: Said, other: Said) -> Relation:
    """Capacity and plan ask for something else than saturation: their loads may differ, and both hold."""

    def relation(agreement: Agreement, reason: Reason, words: str) -> Relation:
        return Relation("diagnose", other.by, "load", agreement, reason, words)

    if other.load_axis != measured.load_axis:
        return relation("unknown", "other axis", f"it counts {other.load_axis.replace('_', ' ')}")
    own: Reason = "response limit" if other.by == "capacity" else "own condition"
    limit = "how quick responses are" if other.by == "capacity" else "its own condition"
    at, load = measured.load, other.load
    if other.below is not None and (at is not None or measured.beyond is not None):
        words = f"it asks for {limit}, which the lightest load does not meet either: load is not the reason"
        return relation("another question", own, words)
    if at is None or load is None:
        if measured.beyond is not None and other.beyond is not None:
            return relation("same", "beyond the loads seen", "neither is reached at the loads seen")
        if at is not None and other.beyond is not None:
            return relation("another question", own, f"it asks for {limit}, and not where throughput bends")
        if measured.beyond is not None and load is not None:
            words = f"it asks for {limit}, which gets worse before throughput bends"
            return relation("another question", own, words)
        return relation("unknown", "one says nothing", "one of the two tells no load")
    if at.low <= load.high and load.low <= at.high:
        return relation("same", "intervals overlap", "the intervals overlap")
    if load.value > at.value:
        words = f"it asks for {limit}: beyond saturation there is a wait, but not yet one that it counts"
    else:
        words = f"it asks for {limit}, which gets worse before throughput bends"
    return relation("another question", own, words)


def _planted(measured: Said, truth: Said) -> Relation:
    def relation(agreement: Agreement, reason: Reason, words: str) -> Relation:
        return Relation("diagnose", "planted", "bottleneck", agreement, reason, words)

    if not measured.components or truth.components == ("none",):
        return relation("unknown", "one says nothing", "the diagnosis names no bottleneck")
    if set(measured.components) & set(truth.components):
        return relation("same", "same component", "the diagnosis names it, or its component")
    return relation("different", "not known", "the diagnosis names something else, and is wrong")


def _lines(teller: By, by: dict[By, Said], relations: Sequence[Relation]) -> tuple[str, ...]:
    """A sentence for each other answer that can be compared with that of `teller`."""
    lines = []
    for name in ("diagnose", "predict", "capacity", "plan", "planted"):
        if name == teller or name not in by:
            continue
        # Everything is compared with the diagnosis: what differs from it is told through it.
        pair = {name, teller} if "diagnose" in (name, teller) else {name, "diagnose"}
        own = [r for r in relations if {r.one, r.other} == pair]
        line = _line(teller, by[name], own) if "diagnose" in (name, teller) else ""
        if line:
            lines.append(line)
    return tuple(lines)


def _line(teller: By, other: Said, relations: Sequence[Relation]) -> str:
    known = [r for r in relations if r.agreement != "unknown"]
    if not known:
        return ""
    start = f"{COMMANDS[other.by]} says {other.words}"
    different = [r for r in known if r.agreement == "different"]
    if different:
        # It is the model's fault in either direction: of what was measured nothing is taken back.
        by = "the model" if teller == "predict" else "it"
        clauses = dict.fromkeys(r.words for r in different)
        told = "; ".join(_about(clause, by) for clause in clauses)
        return f"Differs: {start}: {told}."
    if all(r.agreement == "same" for r in known):
        return f"Agrees: {start} ({'; '.join(dict.fromkeys(r.words for r in known))})."
    other_question = next(r for r in known if r.agreement == "another question")
    # What answers another question is never the diagnosis.
    name = other_question.other if other.by == "diagnose" else "it"
    return f"Both hold: {start}: {_about(other_question.words, name)}."


def _about(clause: str, name: str) -> str:
    """A clause that begins with "it" says who that is."""
    return f"{name}{clause.removeprefix('it')}" if clause.startswith("it ") and name != "it" else clause


def weakened(told: Story) -> str:
    """What the prediction's headline has to add where the diagnosis, which measured, says otherwise; empty:
    nothing."""
    differences = told.different("diagnose", "predict")
    measured = next((one for one in told.said if one.by == "diagnose"), None)
    if not differences or measured is None:
        return ""
    words = "; ".join(dict.fromkeys(_about(r.words, "the model") for r in differences))
    return f"what was measured shows {measured.words} (satline diagnose): {words}"
