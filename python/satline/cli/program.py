"""The program `satline`: options → work → result. Commands are loaded when they are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from satline import __version__
from satline.cli.lazy import LazyGroup
from satline.cli.tree import FORMER, SECTIONS
from satline.errors import SatlineError

# NumPy's threads wait for each other by spinning. The matrices here are small, and on a busy host that is
# time taken from the load that is looked at: 43 % of the processor time of diagnoses, by perf, at a load of
# 15 on 2 processors. No command has imported NumPy yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _private(private: bool) -> None:
    if private:
        # The programs that a command starts inherit it.
        os.umask(0o077)


commands = LazyGroup(
    "satline",
    SECTIONS,
    former=FORMER,
    callback=_private,
    params=[
        click.Option(
            ["--private"], is_flag=True, help="Make what is written readable only by this user: umask 077."
        )
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="How many users a shared machine carries, what limits it, and what to do about it.",
    epilog="""\b
Examples:
  satline study this-host                 how many users this machine carries
  satline record /var/tmp/host.satline    record the real users; Ctrl-C ends
  satline diagnose /var/tmp/host.satline  the verdict, with its evidence
""",
)
click.version_option(__version__, prog_name="satline", message="%(prog)s %(version)s")(commands)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave the process with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors that a user can mend become a message, a hint and an exit code.

    Returns
    -------
    0 done, 1 failed, 2 wrong input, 130 interrupted.
    """
    try:
        status = commands.main(args=arguments, prog_name="satline", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except SatlineError as error:
        _say(error.message, error.hint)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"`{context.command_path} --help` shows how" if context is not None else ""
        _say(error.format_message(), hint)
        return 2
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted", "")
        return 130
    except BrokenPipeError:
        # The reader (`head`, a pager) has had enough; what Python still holds for it must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _say(
            f"{error.filename}: {error.strerror}" if error.filename else str(error),
            "see permissions and free space",
        )
        return 1
    except Exception as error:
        if not _is_unreadable(error):
            raise
        _say(f"the recording cannot be read: {error}", "`satline recording check` says which file is broken")
        return 1


def _is_unreadable(error: Exception) -> bool:
    """Did a query meet a broken Parquet file? DuckDB reads them when a query needs them, not before."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None:
        return False
    # Damage within a file is of the base class itself; every other kind would be a fault of a query of ours.
    kinds = (duckdb.IOException, duckdb.InvalidInputException)
    return isinstance(error, kinds) or type(error) is duckdb.Error


def _say(message: str, hint: str) -> None:
    from satline.present import visible

    lines = [visible(line) for line in message.splitlines()]
    text = "error: " + "\n".join(lines) + "\n"
    if hint:
        text += f"hint: {visible(hint)}\n"
    click.echo(text, nl=False, err=True)
