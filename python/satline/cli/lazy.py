"""Groups of commands that are read from the table of `satline.cli.tree`, and loaded when they are run."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from satline.cli.tree import Entry, Group, Section


class LazyGroup(click.Group):
    """A group that knows its commands by name and short help, and imports one only to run or to explain it.

    Parameters
    ----------
    sections
        What its help lists, in this order.
    former
        Names that go on working and are shown nowhere, with the words of the present name.
    default
        The command that is meant where the first word names none.
    """

    def __init__(
        self,
        name: str,
        sections: tuple[Section, ...],
        *,
        former: Mapping[str, tuple[str, ...]] | None = None,
        default: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(name, **more)
        self.sections = sections
        self.former = former or {}
        self.default = default
        self._entries: dict[str, Entry | Group] = {
            key: entry for section in sections for key, entry in section.entries.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names that are shown, in the table's order."""
        del ctx
        shown = [name for name, entry in self._entries.items() if not entry.hidden]
        return [*shown, *(name for name, one in self.commands.items() if not one.hidden)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or of this former name; loaded now."""
        if cmd_name in self._entries:
            return _loaded(cmd_name, self._entries[cmd_name])
        if cmd_name in self.former:
            first, *rest = self.former[cmd_name]
            found = self.get_command(ctx, first)
            for word in rest:
                assert isinstance(found, LazyGroup)
                found = found.get_command(ctx, word)
            return found
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As every group; words that name no command are the default's."""
        if self.default is not None and not self._names_one(ctx, args):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _names_one(self, ctx: click.Context, args: list[str]) -> bool:
        known = (*self._entries, *ctx.help_option_names)
        # A shell that completes the group's own name has no words yet.
        return (ctx.resilient_parsing and not args) or bool(args and args[0] in known)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As every group; a name that is none is answered with near ones, and with those within groups."""
        name = args[0]
        if ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"No such command {name!r}.{self._near(ctx, name)}", ctx)

    def _near(self, ctx: click.Context, name: str) -> str:
        within = [
            f"{group} {name}"
            for group, entry in self._entries.items()
            if isinstance(entry, Group) and name in entry.commands
        ]
        close = get_close_matches(name, [*self.list_commands(ctx), *self.former], n=3)
        near = within or [" ".join(self.former.get(one, (one,))) for one in close]
        return f" Did you mean {' or '.join(near)}?" if near else ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands first: they are what is looked for."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each command, from the table; nothing is loaded."""
        del ctx
        widest = max((len(name) for name, entry in self._entries.items() if not entry.hidden), default=0)
        for section in self.sections:
            rows = [
                (name.ljust(widest), entry.short)
                for name, entry in section.entries.items()
                if not entry.hidden
            ]
            if rows:
                with formatter.section(section.title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and options that begin so; nothing is loaded but the default, whose words are meant too."""
        found = [
            CompletionItem(name, help=entry.short)
            for name, entry in self._entries.items()
            if name.startswith(incomplete) and not entry.hidden
        ]
        found += click.Command.shell_complete(self, ctx, incomplete)
        if self.default is None:
            return found
        command = _loaded(self.default, self._entries[self.default])
        known = {item.value for item in found}
        with command.make_context(self.default, [], parent=ctx, resilient_parsing=True) as inner:
            options = [i for i in command.shell_complete(inner, incomplete) if i.value not in known]
            arguments = [one for one in command.params if isinstance(one, click.Argument)]
            values = [] if incomplete.startswith("-") else arguments[0].shell_complete(inner, incomplete)
        # Values first: where files are among them, bash forgets what was before.
        return [*values, *found, *options]


_made: dict[Entry | Group, click.Command] = {}


def _loaded(name: str, entry: Entry | Group) -> click.Command:
    """The command or group of an entry; the same object each time."""
    if entry not in _made:
        if isinstance(entry, Group):
            _made[entry] = LazyGroup(
                name,
                (Section("Commands", entry.commands),),
                default=entry.default,
                help=entry.text,
                short_help=entry.short,
                epilog=entry.epilog,
            )
        else:
            made = getattr(import_module(f"satline.cli.{entry.module}"), entry.function)
            assert isinstance(made, click.Command)
            made.short_help, made.hidden = entry.short, entry.hidden
            _made[entry] = made
    return _made[entry]
