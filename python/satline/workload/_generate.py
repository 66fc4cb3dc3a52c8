"""A workload of stated characteristics for any number of users, from building blocks (after MAVIS [AW79]).

Without an order and without programs that read lines, one script draws commands by weight. Otherwise each
script is a sequence drawn once from the chain, and users are dealt to at most 32 scripts, as many as the
benchmark of [AW79] has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from satline.errors import InputError
from satline.workload._blocks import Blocks, Input
from satline.workload._emulator import SHELL, command_keys, distribution_of, literal, think_key, typing_key

MOST_SCRIPTS = 32
USUAL_LENGTH = 100
_PLACE = re.compile(r"\{(?:(user)|(number)|random:(-?\d+):(-?\d+)|pick:([^}]*))\}")


def generate(
    blocks: Blocks, users: int, seed: int, length: int = USUAL_LENGTH
) -> tuple[dict[str, Any], list[str]]:
    """The workload, and remarks.

    Parameters
    ----------
    length
        Commands of the shell in each sequence.

    Raises
    ------
    InputError
        No class of the shell has an input.
    """
    usable: dict[str, list[Input]] = {}
    remarks: list[str] = []
    for one in blocks.klass:
        if one.inner or one.share == 0:
            continue
        inputs = [each for each in one.input if _can(each)]
        if len(inputs) < len(one.input):
            remarks.append(
                f"{one.name}: {len(one.input) - len(inputs)} inputs cannot be typed again: left out"
            )
        if inputs:
            usable[one.name] = inputs
        else:
            remarks.append(f"{one.name}: no input that can be typed: its share goes to the others")
    if not usable:
        raise InputError(
            f"{blocks.name}: no class has an input that can be typed",
            hint='add [[class.input]] with input = "a command" to a class',
        )
    workload: dict[str, Any] = {
        "name": blocks.name,
        "description": f"Generated from building blocks for {users} users, seed {seed}.",
        "shell": SHELL,
        "prompt": "marks",
        "requires": ["bash"],
        "typing": typing_key(blocks.typing),
        "think": think_key(blocks.think),
    }
    if workload["think"]["distribution"] != blocks.think.distribution:
        remarks.append("this emulator knows no table of think times: a lognormal of their mean and spread")
    talks = any(each.dialogue for inputs in usable.values() for each in inputs)
    if blocks.order.order == 0 and not talks:
        workload["script"] = [_weighted(blocks, usable)]
    else:
        random = np.random.default_rng(seed)
        scripts = min(users, MOST_SCRIPTS)
        workload["script"] = [
            {
                "name": f"script-{number:02}",
                "order": "sequence",
                "command": _sequence(blocks, usable, length, random),
            }
            for number in range(1, scripts + 1)
        ]
    return workload, remarks


def shell_shares(blocks: Blocks, names: list[str] | None = None) -> dict[str, float]:
    """Share of each class among the shell's commands."""
    kept = [one for one in blocks.klass if not one.inner and (names is None or one.name in names)]
    total = sum(one.share for one in kept)
    return {one.name: one.share / total for one in kept} if total else {}


def next_shares(
    blocks: Blocks, names: list[str], before: list[str]
) -> tuple[tuple[str, ...], dict[str, float]]:
    """What may follow the last classes, with its share: by the longest context that was seen."""
    contexts = {tuple(context.after): context.next for context in blocks.order.context}
    for length in range(min(blocks.order.order, len(before)), 0, -1):
        after = tuple(before[-length:])
        tally = {name: count for name, count in contexts.get(after, {}).items() if name in names and count}
        if tally:
            total = sum(tally.values())
            return after, {name: count / total for name, count in tally.items()}
    return (), shell_shares(blocks, names)


def _can(one: Input) -> bool:
    lines = [one.input, *(line.input for line in one.dialogue)]
    return (
        all(line.isprintable() for line in lines)
        and bool(one.input)
        and all(line.prompt.strip() for line in one.dialogue)
        and not re.match(r"\s*(?:exit|logout|exec)\b", one.input)
    )


def _weighted(blocks: Blocks, usable: dict[str, list[Input]]) -> dict[str, Any]:
    shares = shell_shares(blocks, list(usable))
    commands = []
    for name, inputs in usable.items():
        total = sum(each.count for each in inputs)
        commands += [
            {"class": name, "input": literal(each.input), "weight": shares[name] * each.count / total}
            for each in inputs
        ]
    return {"name": "mix", "order": "weighted", "command": commands}


def _sequence(
    blocks: Blocks, usable: dict[str, list[Input]], length: int, random: np.random.Generator
) -> list[dict[str, Any]]:
    names: list[str] = []
    commands: list[dict[str, Any]] = []
    for _ in range(length):
        _, shares = next_shares(blocks, list(usable), names)
        name = list(shares)[random.choice(len(shares), p=_exact(list(shares.values())))]
        names.append(name)
        inputs = usable[name]
        one = inputs[random.choice(len(inputs), p=_exact([each.count for each in inputs]))]
        inner = [(f"input to {name}", line.input, line.prompt) for line in one.dialogue]
        commands += command_keys([(name, one.input, None), *inner])
    return commands


def _exact(weights: list[float] | list[int]) -> Any:
    values = np.asarray(weights, dtype=float)
    return values / values.sum()


@dataclass
class Draws:
    """What users typed, or would: one entry for each line, in order, users one after another.

    first
        The first line of a user, whose think time is not of the distribution.
    """

    user: list[str] = field(default_factory=list)
    klass: list[str] = field(default_factory=list)
    think_s: list[float] = field(default_factory=list)
    typing_s: list[float] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    output_bytes: list[float] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)


def draw(workload: dict[str, Any], users: int, lines: int, seed: int) -> Draws:
    """The first `lines` lines of each of so many users, by the emulator's rules.

    Of a sequence at most one pass.
    """
    random = np.random.default_rng(seed)
    draws = Draws()
    default = distribution_of(workload["think"])
    rate, variation = (
        workload["typing"]["characters_per_second"],
        workload["typing"]["variation"],
    )
    scripts = workload["script"]
    for number in range(users):
        script = scripts[number % len(scripts)]
        commands = script["command"]
        if script["order"] == "weighted":
            chosen = random.choice(
                len(commands), lines, p=_exact([command["weight"] for command in commands])
            )
        else:
            chosen = np.arange(min(lines, len(commands)))
        thinks = default.draw(random, len(chosen))
        for index, which in enumerate(chosen):
            command = commands[which]
            think = thinks[index]
            if "think" in command:
                think = distribution_of(command["think"]).draw(random, 1)[0]
            characters = len(_filled(command["input"], number + 1, random)) + 1
            draws.user.append(f"user-{number + 1:03}")
            draws.klass.append(command["class"])
            draws.think_s.append(float(think))
            draws.typing_s.append(_typing_time(rate, variation, characters - 1, random))
            draws.characters.append(characters)
            draws.first.append(index == 0)
    return draws


def _typing_time(rate: float, variation: float, gaps: int, random: np.random.Generator) -> float:
    if rate == 0 or gaps == 0:
        return 0.0
    square = np.log1p(variation**2)
    return float(random.lognormal(-np.log(rate) - square / 2, np.sqrt(square), gaps).sum())


def _filled(text: str, number: int, random: np.random.Generator) -> str:
    def fill(place: re.Match[str]) -> str:
        if place[1]:
            return f"user-{number:03}"
        if place[2]:
            return str(number)
        if place[3]:
            return str(random.integers(int(place[3]), int(place[4]) + 1))
        choices = place[5].split("|")
        return choices[random.integers(len(choices))]

    return _PLACE.sub(fill, text)
