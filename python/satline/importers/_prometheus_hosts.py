"""Which of the series in a Prometheus are of one host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from satline.errors import InputError
from satline.importers._series import Series

SHOWN = 10
# Labels that say on which host a container ran.
PLACES = ("node", "kubernetes_io_hostname", "instance")


@dataclass(frozen=True)
class Host:
    """One host's series; `notes` tell what was put together or left out."""

    name: str
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()


def choose_host(series: Sequence[Series], wanted: str | None, source: str) -> Host:
    """The series of the host asked for, or of the only one.

    Instances that say the same name of themselves (node_uname_info) one after another are one host that was
    renamed or has moved; at the same time they are several hosts.

    Raises
    ------
    InputError
        Listing the hosts, when there are several and `wanted` is none of them.
    """
    machine = [s for s in series if s.name.startswith("node_")]
    if not machine:
        return _only_users(series, wanted, source)
    spans: dict[str, tuple[int, int]] = {}
    nodes: dict[str, str] = {}
    for one in machine:
        at = one.label("instance")
        first, last = spans.get(at, (int(one.time_ms[0]), int(one.time_ms[-1])))
        spans[at] = (min(first, int(one.time_ms[0])), max(last, int(one.time_ms[-1])))
        if one.name == "node_uname_info":
            nodes[at] = one.label("nodename")
    hosts: dict[str, list[str]] = {}
    for at in spans:
        hosts.setdefault(nodes.get(at) or at, []).append(at)
    for name, instances in list(hosts.items()):
        ordered = sorted(instances, key=lambda at: spans[at])
        if any(spans[b][0] <= spans[a][1] for a, b in pairwise(ordered)):
            del hosts[name]
            hosts.update({at: [at] for at in instances})
    name = _choose(hosts, wanted, source)
    instances = hosts[name]
    node = nodes.get(instances[-1], "")
    notes = []
    if len(instances) > 1:
        ordered = sorted(instances, key=lambda at: spans[at])
        notes.append(f"host {name} was scraped under several names in turn: {', '.join(ordered)}")
    jobs = {s.label("job") for s in machine if s.label("instance") in instances}
    if len(jobs) > 1:
        notes.append(f"several jobs scraped host {name}: where they overlap, the longest series counts")
    own = {name, node, *instances, *(_bare(at) for at in instances)} - {""}
    of = [s for s in machine if s.label("instance") in instances]
    others = [s for s in series if not s.name.startswith("node_")]
    of += [s for s in others if (len(hosts) == 1 and not _places(s)) or _places(s) & own]
    if others and not any(not s.name.startswith("node_") for s in of):
        notes.append("there are series of containers, but none says that it is of this host")
    return Host(name, tuple(of), tuple(notes))


def of_host(applications: Sequence[Series], host: Host) -> list[Series]:
    """Series of applications that run on the host: those scraped from it, whatever the port, or all where
    none says so: an exporter may run elsewhere than what it looks at."""
    places = {_bare(s.label("instance")) for s in host.series} - {""}
    own = [s for s in applications if not s.label("instance") or _bare(s.label("instance")) in places]
    return own or list(applications)


def _only_users(series: Sequence[Series], wanted: str | None, source: str) -> Host:
    hosts: dict[str, list[str]] = {}
    for one in series:
        at = one.label(*PLACES)
        hosts.setdefault(at, [at])
    name = _choose(hosts, wanted, source)
    of = tuple(s for s in series if s.label(*PLACES) == name)
    return Host(name, of)


def _choose(hosts: dict[str, list[str]], wanted: str | None, source: str) -> str:
    if wanted is None:
        if len(hosts) == 1:
            return next(iter(hosts))
        problem = f"{source}: holds {len(hosts)} hosts"
    else:
        found = [
            name
            for name, instances in hosts.items()
            if wanted == name or wanted in instances or wanted in map(_bare, instances)
        ]
        if len(found) == 1:
            return found[0]
        problem = f"{source}: host {wanted} is {'not there' if not found else 'not one only'}"
    names = sorted(filter(None, hosts))
    if not names:
        raise InputError(problem, hint="the source does not name its host: leave --host out")
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    raise InputError(problem, hint=f"choose one with --host: {listed}")


def _places(one: Series) -> set[str]:
    """What a container's series says of the host it runs on."""
    at = one.label("instance")
    return {one.label("node"), one.label("kubernetes_io_hostname"), at, _bare(at)} - {""}


def _bare(instance: str) -> str:
    """An instance without its port."""
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() else instance
