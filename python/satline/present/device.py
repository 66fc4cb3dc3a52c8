"""One device in detail: its figures, the areas on it, and who used it.

No source tells which user's request went to which device. What is told is each user's volume on all devices
together and each device's volume of all users together. With u of a user, d of the device and a of all
devices, the user's volume on the device lies between max(0, u - (a - d)) and min(u, d); spread as all volume
is, it would be u d / a.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from satline.errors import InputError
from satline.outside import parse_toml
from satline.present._escape import visible
from satline.present._words import variable_words
from satline.reduction import Groups, group, variables

if TYPE_CHECKING:
    from satline.recording import Recording
    from satline.reduction import Filters

FIGURES = (
    "device_rate",
    "device_read_rate",
    "device_write_rate",
    "device_bytes",
    "device_busy",
    "device_queue",
    "device_response",
    "device_queued",
    "device_pend",
    "device_disconnect",
    "device_connect",
    "device_service",
    "device_read_response",
    "device_write_response",
    "device_missed_revolutions",
    "device_hit_ratio",
    "device_paging_rate",
    "device_page_in_rate",
    "device_page_out_rate",
    "device_used_fraction",
    "device_error_rate",
)
WRITTEN = "bytes written"
_NO_BOUNDS = "Bytes written are charged to who changed the page, before it is written: they have no bounds."
# Of a kind of work: its words, the device's variable, the user's.
WORK = (
    ("bytes read", "device_read_volume", "user_read_rate"),
    (WRITTEN, "device_write_volume", "user_write_rate"),
    ("I/Os", "device_io_rate", "user_io_rate"),
    ("pages read", "device_page_in_rate", "user_major_fault_rate"),
    ("pages written", "device_page_out_rate", "user_page_write_rate"),
)
_ALL = 1_000_000
_NAMED = 5
_ONE_SAMPLE_S = 1e-3  # shorter than any interval


@dataclass(frozen=True)
class Figure:
    """One variable of the device over the observations, in the catalogue's unit."""

    variable: str
    label: str
    unit: str
    mean: float | None
    error: float | None
    median: float | None
    p90: float | None
    largest: float | None
    n: int


@dataclass(frozen=True)
class Usage:
    """One user's work of one kind.

    everywhere
        Rate on all devices together.
    expected
        Rate on this device if it is spread over the devices as all work of the kind is.
    least, most
        Bounds that hold however it is spread; ``None``: there are none.
    """

    user: str
    work: str
    unit: str
    everywhere: float
    expected: float
    least: float | None
    most: float | None


@dataclass(frozen=True)
class DeviceDetail:
    """All that a recording tells of one device.

    facts
        Name and value: kind, size, priority.
    missing
        Label and reason of each figure that is not there.
    areas
        Areas on it, in words; empty: none is told.
    carried
        By kind of work: the device's part of all of it.
    users
        By work, those with the most first.
    """

    name: str
    facts: Mapping[str, Any]
    figures: Sequence[Figure]
    missing: Sequence[tuple[str, str]]
    areas: Sequence[str]
    carried: Mapping[str, float]
    users: Sequence[Usage]
    notes: Sequence[str]
    selection: str = ""


def device_detail(recording: Recording, name: str, filters: Filters | None = None) -> DeviceDetail:
    """What `recording` tells of the device `name`.

    Raises
    ------
    InputError
        There is no such device, or no two samples.
    """
    facts = _facts(recording, name)
    devices = group(recording, "device", list(FIGURES), most=_ALL, filters=filters)
    labels = [one.label for one in devices.classes]
    if name not in labels:
        raise InputError(
            f"{visible(recording.path)}: no observation that counts holds device {visible(name)}",
            hint="choose other hours or days",
        )
    figures, missing = _figures(devices, labels.index(name))
    carried: dict[str, float] = {}
    users: list[Usage] = []
    notes: list[str] = []
    by_device = _by(recording, "device", [d for _, d, _ in WORK], filters)
    by_user = _by(recording, "user", [u for _, _, u in WORK], filters)
    # Some device is there all the time.
    seconds = max((one.seconds for one in by_device.classes), default=0.0) if by_device else 0.0
    of_devices, of_users = _rates(by_device, seconds), _rates(by_user, seconds)
    for work, of_device, of_user in WORK:
        volumes = of_devices.get(of_device, {})
        here = volumes.get(name)
        if not here:
            continue
        everywhere = sum(volume for volume in volumes.values() if volume is not None)
        carried[work] = here / everywhere
        told = of_users.get(of_user, {})
        rates = {user: rate for user, rate in told.items() if rate is not None}
        unknown = [user for user, rate in told.items() if rate is None]
        if not rates:
            notes.append(f"Users' {work} are not recorded.")
        elif unknown:
            named = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
            notes.append(f"Whose {work} are not recorded: {named}.")
        found = variables().find(of_device)
        users += _usage(work, found.unit if found else "", here, everywhere, rates)
        if rates and work == WRITTEN:
            notes.append(_NO_BOUNDS)
    selection = "" if filters is None else filters.words()
    return DeviceDetail(
        name, facts, figures, missing, _areas(recording, name), carried, users, notes, selection
    )


def _facts(recording: Recording, name: str) -> dict[str, Any]:
    connection = recording.connect(tables=("device",))
    names = [str(row[0]) for row in connection.execute("SELECT DISTINCT device FROM device").fetchall()]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=3)
        known = ", ".join(visible(one, longest=40) for one in (close or sorted(names)[:12]))
        raise InputError(
            f"{visible(recording.path)}: no device {visible(name)}",
            hint=f"{'did you mean' if close else 'it has'} {known or 'none'}{'?' if close else ''}",
        )
    row = connection.execute(
        "SELECT any_value(device_kind), max(size_bytes), max(priority), count(*) FROM device"
        " WHERE device = ?",
        [name],
    ).fetchone()
    kind, size, priority, samples = row or (None, None, None, 0)
    return {"kind": kind, "size_bytes": size, "priority": priority, "samples": samples}


def _figures(devices: Groups, place: int) -> tuple[list[Figure], list[tuple[str, str]]]:
    figures, missing = [], []
    for variable in FIGURES:
        label = variable_words(variable)
        curve = devices.curves.get(variable)
        point = curve.points[place] if curve is not None else None
        if curve is None or point is None or point.mean is None:
            reason = devices.missing.get(variable, "not told of this device")
            missing.append((label, reason))
            continue
        error = point.honest_error if point.honest_error is not None else point.standard_error
        median, p90 = point.percentiles.get(50), point.percentiles.get(90)
        figures.append(
            Figure(variable, label, curve.unit, point.mean, error, median, p90, point.largest, point.n)
        )
    return figures, missing


def _by(
    recording: Recording, by: Literal["user", "device"], names: Sequence[str], filters: Filters | None
) -> Groups | None:
    """From one sample to the next: where a counter fell, as a user's may when a process ends, only that
    interval is lost. ``None``: the recording has no users, or devices."""
    connection = recording.connect(tables=(by,))
    if connection.execute(f'SELECT 1 FROM "{by}" LIMIT 1').fetchone() is None:
        return None
    return group(recording, by, names, most=_ALL, filters=filters, observation_s=_ONE_SAMPLE_S)


def _rates(groups: Groups | None, seconds: float) -> dict[str, dict[str, float | None]]:
    """By variable: the mean rate of each user or device over `seconds`; while it was away it had none."""
    if groups is None or not seconds:
        return {}
    return {
        variable: {
            one.label: None if point.mean is None else point.mean * one.seconds / seconds
            for one, point in zip(groups.classes, curve.points, strict=True)
        }
        for variable, curve in groups.curves.items()
    }


def _usage(
    work: str, unit: str, here: float, everywhere: float, rates: Mapping[str, float]
) -> Iterator[Usage]:
    others = everywhere - here
    for user, rate in sorted(rates.items(), key=lambda one: (-one[1], one[0])):
        # More than all devices moved: the two were not counted at one place, and bound nothing.
        bounded = work != WRITTEN and rate <= everywhere * (1 + 1e-9)
        if rate > 0:
            yield Usage(
                user=user,
                work=work,
                unit=unit,
                everywhere=rate,
                expected=min(rate * here / everywhere, here),
                least=max(0.0, rate - others) if bounded else None,
                most=min(rate, here) if bounded else None,
            )


def _areas(recording: Recording, name: str) -> list[str]:
    """Areas of a simulated machine's file; on Linux the swap areas whose names are this disk's."""
    text = recording.description.get("simulation", {}).get("machine")
    if isinstance(text, str):
        return list(_machine_areas(text, name))
    rows = recording.connect(tables=("device",)).execute(
        "SELECT device, max(size_bytes), max(priority) FROM device WHERE device_kind = 'swap' GROUP BY device"
        " ORDER BY device"
    )
    return [
        f"swap area {device}" + (f", {size / 2**20:,.0f} MiB" if size else "") + f", priority {priority}"
        for device, size, priority in rows.fetchall()
        if str(device) == name or str(device).startswith((f"/dev/{name}", f"{name}p"))
    ]


def _machine_areas(text: str, name: str) -> Iterator[str]:
    try:
        areas = parse_toml(text).get("paging_area", [])
    except tomllib.TOMLDecodeError:
        return
    for area in areas if isinstance(areas, list) else []:
        if not isinstance(area, Mapping):
            continue
        listed = area.get("devices", [area.get("device")])
        of = {str(one) for one in listed} if isinstance(listed, list) else set()
        # A device of several units has its number behind its name.
        if name not in of and name.rpartition("-")[0] not in of:
            continue
        first, count = area.get("first_cylinder", 0), area.get("cylinders")
        if isinstance(first, int) and isinstance(count, int):
            purpose = area.get("purpose", "paging")
            tier = f", tier {area['tier']}" if "tier" in area else ""
            yield f"{purpose} area, cylinders {first} to {first + count - 1}{tier}"
