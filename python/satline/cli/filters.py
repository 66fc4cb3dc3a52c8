"""Options that say which observations and which work count, for every command that reduces a recording."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from satline.cli.declared import option, several
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.reduction import Filters


def filters_of(
    hours: str | None = None,
    days: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    timezone: str | None = None,
    users: str | None = None,
    exclude_users: str | None = None,
    classes_of_work: str | None = None,
) -> Filters | None:
    """The filters that the texts of the options ask for.

    Raises
    ------
    InputError
        A text that is no hours, days, date or zone.
    """
    from satline.reduction import Filters

    zone = timezone or "UTC"
    # The zone is checked before dates are read by it.
    checked = Filters(timezone=zone)
    clock = ZoneInfo(checked.timezone)
    made = Filters(
        start=moment_named("--from", begin, clock),
        end=moment_named("--to", end, clock, whole_day=True),
        hours=_hours(hours),
        users=_names(users),
        exclude_users=_names(exclude_users) or (),
        transaction_classes=_names(classes_of_work),
        days=_days(days),
        timezone=zone,
    )
    return None if made == Filters() else made


def _of_observations(**texts: str | None) -> Filters | None:
    """As `filters_of`, for commands whose answers have no clock of their own."""
    from satline.reduction import Filters

    found = filters_of(**texts)
    if found is not None and found == Filters(timezone=found.timezone):
        raise InputError(
            "--timezone alone changes nothing here", hint="it is for --hours, --days, --from and --to"
        )
    return found


_OPTIONS = {
    "hours": option("Only these hours of the day, excluding the end.", metavar="9-17"),
    "days": option("Only these days of the week: mon-fri, sat,sun.", metavar="mon-fri"),
    "begin": option("Only from this time on: 2026-11-02 or 2026-11-02T09:00.", "--from", metavar="DATE"),
    "end": option("Only up to this time, or to the end of this day.", "--to", metavar="DATE"),
    "timezone": option("Time zone of hours, days and dates; default UTC.", metavar="ZONE"),
    "users": option("Count only these users.", metavar="A,B"),
    "exclude_users": option("Exclude these users.", metavar="A,B"),
    "classes_of_work": option("Only these transaction classes.", "--class", metavar="A,B"),
}
# A command gets `filters`, ``None`` where no option is used.
FILTERS = several(_of_observations, **_OPTIONS)
# Of commands that show hours or days themselves.
CLOCKED_FILTERS = several(filters_of, **_OPTIONS)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _hours(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, sign, end = text.partition("-")
    if not (sign and _number(first) and _number(end)) or int(first) > 24 or int(end) > 24:
        raise InputError(f"--hours {text!r}", hint="write 9-17, or 22-6 over midnight")
    return int(first), int(end)


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 4


def _days(text: str | None) -> tuple[int, ...] | None:
    from satline.reduction import DAYS

    if text is None:
        return None
    chosen: list[int] = []
    for part in text.lower().split(","):
        first, sign, last = (word.strip()[:3] for word in part.partition("-"))
        if first not in DAYS or (sign and last not in DAYS):
            raise InputError(f"--days {text!r}", hint="write mon-fri, or sat,sun")
        start = DAYS.index(first)
        count = (DAYS.index(last) - start) % 7 if sign else 0
        chosen += [(start + k) % 7 for k in range(count + 1)]
    return tuple(sorted(set(chosen)))


def moment_named(option: str, text: str | None, zone: tzinfo, whole_day: bool = False) -> datetime | None:
    """A date or a time; without a zone of its own by the clock of `zone`."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text!r}", hint="write 2026-11-02 or 2026-11-02T09:00") from None
    if whole_day and len(text) <= len("2026-11-02"):
        moment += timedelta(days=1)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
