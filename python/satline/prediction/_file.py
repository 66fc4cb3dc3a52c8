"""A network given by hand, as a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from satline.errors import InputError
from satline.prediction._decomposition import LIFETIME_EXPONENT, Storage
from satline.prediction._network import CustomerClass, Network, Station
from satline.problems import joined, line_of, read_toml

HINT = "`satline analyse predict --help` shows a whole file"
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=80)]
ALL = "all"


def _for_all(value: Any) -> Any:
    return {ALL: value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


# A number for all classes, or a table with a number for each.
ByClass = Annotated[dict[str, Seconds], BeforeValidator(_for_all)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class UsersFile(_Model):
    """[[users]]: a class of users who are alike."""

    name: Name = "users"
    count: Annotated[int, Field(ge=1, le=100_000)]
    think_s: Seconds = 0.0


class StationFile(_Model):
    """[[station]]: `demand_s`, or `visits` and `service_s`; each a number, or a table by class."""

    name: Name
    kind: Literal["queueing", "delay"] = "queueing"
    demand_s: ByClass | None = None
    visits: ByClass | None = None
    service_s: ByClass | None = None
    servers: Positive = 1.0
    speeds: Annotated[list[Positive], Field(min_length=1, max_length=10_000)] | None = None


class StorageFile(_Model):
    """[storage]: what main storage allows."""

    working_sets: Positive | None = None
    admitted: Annotated[int, Field(ge=1, le=10_000)] | None = None
    paging: Name | None = None
    exponent: Annotated[float, Field(ge=0, le=10)] = LIFETIME_EXPONENT


class NetworkFile(_Model):
    """The whole file."""

    title: str = ""
    users: Annotated[list[UsersFile], Field(min_length=1, max_length=20)]
    station: Annotated[list[StationFile], Field(min_length=1, max_length=200)]
    storage: StorageFile | None = None


@dataclass(frozen=True)
class Described:
    """A network, and what main storage allows in it."""

    network: Network
    storage: Storage | None


def read_network(path: Path) -> Described:
    """Read a network file.

    Raises
    ------
    InputError
        No such file, no TOML, or a key that is wrong: all at once, with their lines.
    """
    text, made = read_toml(path, NetworkFile, kind="network file", name_one="name a network file", hint=HINT)
    wrong = _inconsistent(path, text, made)
    if wrong:
        raise joined(wrong, hint=HINT)
    names = [u.name for u in made.users]
    classes = tuple(CustomerClass(u.name, u.count, u.think_s) for u in made.users)
    stations = tuple(
        Station(
            s.name,
            tuple(_demand(s, name) for name in names),
            s.kind,
            s.servers,
            tuple(s.speeds) if s.speeds else None,
        )
        for s in made.station
    )
    try:
        network = Network(classes, stations, made.title)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from None
    kept = made.storage
    return Described(
        network,
        None if kept is None else Storage(kept.working_sets, kept.admitted, kept.paging, kept.exponent),
    )


def _inconsistent(path: Path, text: str, made: NetworkFile) -> list[tuple[str, str]]:
    """What is wrong between keys, each with its remedy."""
    wrong: list[tuple[str, str]] = []
    names, places = [u.name for u in made.users], [s.name for s in made.station]

    def add(place: tuple[int | str, ...], what: str, remedy: str) -> None:
        wrong.append((f"{path}:{line_of(text, place)}: {what}", remedy))

    for number, s in enumerate(made.station):
        place = ("station", number)
        product = (s.visits is not None, s.service_s is not None)
        if (s.demand_s is not None) == any(product) or any(product) != all(product):
            add(place, f"station {s.name}: which demand?", "give either demand_s, or visits and service_s")
        if s.speeds is not None and s.servers != 1:
            add(place, f"station {s.name}: servers and speeds", "give one of the two")
        given = {n for table in (s.demand_s, s.visits, s.service_s) for n in table or ()}
        for unknown in sorted(given - {*names, ALL}):
            add(place, f"station {s.name}: no users {unknown}", f"users: {', '.join(names)}")
    if made.storage is not None:
        paging = made.storage.paging
        if paging is None and made.storage.working_sets is not None:
            add(("storage",), "storage.working_sets without storage.paging", "name the station to page to")
        if paging is not None and paging not in places:
            add(
                ("storage", "paging"),
                f"storage.paging: no station {paging}",
                f"stations: {', '.join(places)}",
            )
        if len(names) > 1:
            add(("storage",), f"storage: {len(names)} classes of users", "storage is divided among one class")
    return wrong


def _demand(station: StationFile, name: str) -> float:
    """Demand of one class; a class that a table leaves out has none."""

    def of(table: dict[str, float] | None) -> float:
        return 0.0 if table is None else table.get(name, table.get(ALL, 0.0))

    if station.demand_s is not None:
        return of(station.demand_s)
    return of(station.visits) * of(station.service_s)
