"""What a recording holds, and which observations and which work count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import duckdb

from satline.errors import InputError
from satline.reduction._axes import axis_named
from satline.reduction._variables import REQUEST_TIMES, Variables

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Filters:
    """Which observations and which work count.

    An off-shift batch makes indiscriminate plots look saturated at low load [Bard]: leave its hours, its
    users or its class out.

    start, end
        Aware datetimes; the end is excluded. An observation belongs to the middle of its period.
    hours
        First hour and end (excluded), by the clock of `timezone`; (22, 6) goes over midnight.
    days
        Days of the week by the clock of `timezone`, 0 for Monday.
    timezone
        Name of a zone, such as ``Europe/Berlin``.

    Raises
    ------
    InputError
        A zone that does not exist, an hour or a day out of range.
    """

    start: datetime | None = None
    end: datetime | None = None
    hours: tuple[int, int] | None = None
    users: tuple[str, ...] | None = None
    exclude_users: tuple[str, ...] = ()
    transaction_classes: tuple[str, ...] | None = None
    days: tuple[int, ...] | None = None
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if self.hours is not None and not all(0 <= h <= 24 for h in self.hours):
            raise InputError(f"hours {self.hours[0]}-{self.hours[1]}", hint="hours go from 0 to 24")
        if self.days is not None and not all(0 <= d <= 6 for d in self.days):
            raise InputError(f"days {self.days}", hint="days go from 0 (Monday) to 6")
        try:
            ZoneInfo(self.timezone)
        except (KeyError, ValueError, OSError):
            raise InputError(
                f"there is no time zone {self.timezone!r}", hint="give a name such as Europe/Berlin or UTC"
            ) from None

    def words(self) -> str:
        """The filters in words; empty where all counts."""
        parts = []
        if self.start is not None:
            parts.append(f"from {self.start.isoformat()}")
        if self.end is not None:
            parts.append(f"before {self.end.isoformat()}")
        if self.hours is not None:
            parts.append(f"hours {self.hours[0]}-{self.hours[1]} ({self.timezone})")
        if self.days is not None:
            parts.append(f"{', '.join(DAYS[d] for d in self.days)} ({self.timezone})")
        if self.users is not None:
            parts.append(f"users {', '.join(self.users)}")
        if self.exclude_users:
            parts.append(f"without users {', '.join(self.exclude_users)}")
        if self.transaction_classes is not None:
            parts.append(f"transactions {', '.join(self.transaction_classes)}")
        return "; ".join(parts)

    def observation_sql(self) -> str:
        """Condition on an observation's time_ns (of its last reading) and period_s."""
        parts = ["TRUE"]
        # Wider than any time: one that a hostile recording states must not overflow.
        middle_ns = "(time_ns::HUGEINT - (period_s * 5e8)::HUGEINT)"
        if self.start is not None:
            parts.append(f"{middle_ns} >= {_ns(self.start)}")
        if self.end is not None:
            parts.append(f"{middle_ns} < {_ns(self.end)}")
        clock = f"timezone({texts((self.timezone,))}, make_timestamptz(({middle_ns} // 1000)::BIGINT))"
        if self.hours is not None:
            first, end = self.hours
            hour = f"extract(hour FROM {clock})"
            both = "AND" if first < end else "OR"
            parts.append(f"({hour} >= {first} {both} {hour} < {end})")
        if self.days is not None:
            days = ", ".join(str(d + 1) for d in self.days) or "NULL"
            parts.append(f"extract(isodow FROM {clock}) IN ({days})")
        return " AND ".join(parts)

    def user_sql(self) -> str:
        """Condition on a row of table user."""
        parts = ["TRUE"]
        if self.users is not None:
            parts.append(f'"user" IN ({texts(self.users)})')
        if self.exclude_users:
            parts.append(f'"user" NOT IN ({texts(self.exclude_users)})')
        return " AND ".join(parts)

    def transaction_sql(self) -> str:
        """Condition on a transaction whose completion counts."""
        parts = [self.user_sql()]
        if self.transaction_classes is not None:
            parts.append(f"class IN ({texts(self.transaction_classes)})")
        return " AND ".join(parts)


def _ns(moment: datetime) -> int:
    return int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000


def texts(values: tuple[str, ...]) -> str:
    """SQL texts with commas between them; NULL for none."""
    return ", ".join("'" + v.replace("'", "''") + "'" for v in values) or "NULL"


def has_rows(connection: duckdb.DuckDBPyConnection, table: str, where: str = "TRUE") -> bool:
    return bool(connection.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1").fetchall())


def recorded(connection: duckdb.DuckDBPyConnection, catalogue: Variables, axis: str, users: str) -> bool:
    """Was anything recorded that this axis is made of?"""
    if axis == "active_users":
        return has_rows(connection, '"user"', f"cpu_us IS NOT NULL AND {users}")
    if axis == "in_flight":
        return (
            has_rows(connection, '"transaction"', "response_us IS NOT NULL")
            or has_rows(connection, '"user"', f"transaction_us IS NOT NULL AND {users}")
            or has_rows(connection, "system", "transaction_us IS NOT NULL")
        )
    if axis == "in_system":
        times = " OR ".join(f"{c} IS NOT NULL" for c in REQUEST_TIMES)
        return has_rows(connection, "device", f"device_kind = 'block' AND ({times})") and has_rows(
            connection, "processor", "user_us IS NOT NULL AND system_us IS NOT NULL"
        )
    variable = catalogue.find(axis_named(axis, catalogue).variable)
    columns = catalogue.columns([variable] if variable else [])["system"]
    return has_rows(connection, "system", " OR ".join(f'"{c}" IS NOT NULL' for c in columns))


def users_condition(connection: duckdb.DuckDBPyConnection, filters: Filters, transactions: bool) -> str:
    """Users of the transactions where the monitor saw any of them, else all whose name is a user's."""
    base = f"left(\"user\", 1) <> '_' AND {filters.user_sql()}"
    if transactions:
        inside = '"user" IN (SELECT DISTINCT "user" FROM transaction)'
        if has_rows(connection, '"user"', inside):
            return f"{base} AND {inside}"
    return base
