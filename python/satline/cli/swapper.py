"""`satline swapper run|status|explain|touch|replay|unit`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.swapper import Status

STATUS = option("The daemon's status file. [default: below /run]", "--status")


@command("""\b
Examples:
  sudo satline swapper run policy.toml --dry-run
  sudo satline swapper run policy.toml --recording host.satline
""")
def run(
    policy: Path = argument(),
    dry_run: bool = option("Say what would be done, and do nothing."),
    recording: Path | None = option("Write a recording, or into one that is there."),
    metrics: str | None = option(
        "Serve Prometheus metrics at this address, such as 127.0.0.1:9477.", metavar="ADDRESS:PORT"
    ),
    status_path: Path | None = STATUS,
) -> None:
    """Watch the users that POLICY names."""
    from satline.swapper import default_status, read_policy
    from satline.systems.binaries import find_binary

    read_policy(policy)
    program = find_binary("satline-swapper")
    path = status_path or default_status()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    words = [str(program), "run", "--policy", str(policy), "--status", str(path)]
    words += ["--dry-run"] if dry_run else []
    words += ["--recording", str(recording)] if recording else []
    words += ["--metrics", metrics] if metrics else []
    os.execv(program, words)


@command("""\b
Examples:
  satline swapper status
  satline swapper status --json | jq '.users[].state'
""")
def status(status_path: Path | None = STATUS, as_json: bool = JSON) -> None:
    """Show the users and their states, as last reported by the daemon."""
    from satline.swapper import default_status, read_status

    found = read_status(status_path or default_status())
    if as_json:
        print_json("swapper-status", found)
        return
    _print_status(found)


def _print_status(found: Status) -> None:
    from rich.console import Console

    from satline.present import Table, print_table, quantity, visible

    console = Console(highlight=False)
    cost = found.cpu_us / 1e4 / found.uptime_s if found.uptime_s > 0 else 0.0
    dry = ", dry run" if found.dry_run else ""
    click.echo(f"pid {found.pid}{dry}, {cost:.2f} % of a processor; pages by {visible(found.method)}")
    if found.storage is not None:
        free, low, high = (
            quantity(float(found.storage[key]), "bytes") for key in ("free_bytes", "low_bytes", "high_bytes")
        )
        click.echo(f"memory {'short' if found.short else 'ample'}: {free} free (low {low}, high {high})")
    for one in found.lacking:
        click.echo(f"lacking: {visible(one['what'])}: {visible(one['instead'])}")
    if not found.users:
        click.echo("no users: nothing that runs now is what the policy watches")
        return
    rows = [["user", "state", "idle", "resident", "working set", "resumes", "prepage errors"]]
    for user in found.users:
        size = user.working_set_bytes
        errors = f"{user.prepage_errors / user.prepaged_pages:.1%}" if user.prepaged_pages else "–"
        rows.append(
            [
                user.user,
                user.state,
                f"{user.idle_seconds:.0f} s",
                quantity(float(user.resident_bytes), "bytes"),
                "–" if size is None else quantity(float(size), "bytes"),
                f"{user.resumes}",
                errors,
            ]
        )
    print_table(Table.of(rows, text=(0, 1)), console)


@command("""\b
Examples:
  satline swapper explain --policy policy.toml
  satline swapper explain /user.slice/user-1000.slice
""")
def explain(
    user: str | None = argument(),
    policy: Path | None = option("Say what this policy means, key by key."),
    status_path: Path | None = STATUS,
) -> None:
    """Say why USER is in its state, or what a policy means."""
    from textwrap import fill

    from satline.present import visible
    from satline.swapper import default_status, explain_policy, explain_user, read_policy, read_status

    if (user is None) == (policy is None):
        raise click.UsageError("name a user, or --policy FILE", click.get_current_context())
    if policy is not None:
        lines = explain_policy(read_policy(policy))
    else:
        lines = explain_user(read_status(status_path or default_status()), user or "")
    for line in lines:
        click.echo(fill(visible(line), 80, subsequent_indent="  ", break_long_words=False))


@command("""\b
Example:
  satline swapper touch /user.slice/user-1000.slice
""")
def touch(user: str = argument(), status_path: Path | None = STATUS) -> None:
    """Tell the daemon that USER is about to come back: its swap sets are read before it touches anything.

    A notebook proxy calls this when a request for a kernel arrives.
    """
    from satline.swapper import announce, default_status

    announce(status_path or default_status(), user)


@command("""\b
Example:
  satline swapper replay host.satline policy.toml other.toml
""")
def replay(
    recording: Path = argument(),
    policies: tuple[Path, ...] = argument("POLICY...", required=True),
    as_json: bool = JSON,
) -> None:
    """Replay everything that a daemon observed in RECORDING under each POLICY.

    Users return when they did, work takes no time, and free memory is corrected by what is swapped out. It
    cannot tell how users would have behaved on a faster or slower system.
    """
    from satline.present import quantity, visible
    from satline.swapper import read_policy
    from satline.swapper import replay as run_replay

    for policy in policies:
        read_policy(policy)
    done = {str(policy): run_replay(recording, policy) for policy in policies}
    if as_json:
        print_json("swapper-replay", policies=done)
        return
    for name, one in done.items():
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(one.actions.items())) or "nothing"
        click.echo(f"{visible(name)}: {kinds}")
        share = one.short_seconds / one.seconds if one.seconds else 0.0
        click.echo(
            f"  memory short in {share:.1%} of {one.seconds:,.0f} s; at most "
            f"{quantity(float(one.written_bytes), 'bytes')} written; "
            f"{one.out_user_seconds:,.0f} user-seconds outside"
        )


@command("""\b
Example:
  satline swapper unit policy.toml > satline-swapper.service
""")
def unit(
    policy: Path = argument(),
    metrics: str | None = option(
        "Serve Prometheus metrics at this address, such as 127.0.0.1:9477.", metavar="ADDRESS:PORT"
    ),
) -> None:
    """Print satline-swapper.service for POLICY, with the privileges that it needs and no others."""
    from satline.swapper import make_unit, read_policy
    from satline.systems.binaries import find_binary

    asked = read_policy(policy)
    click.echo(make_unit(find_binary("satline-swapper"), policy.absolute(), asked, metrics), nl=False)
