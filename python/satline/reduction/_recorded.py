"""What a recording holds, and whose work counts."""

from __future__ import annotations

import duckdb

from satline.reduction._axes import axis_named
from satline.reduction._filters import Filters
from satline.reduction._variables import REQUEST_TIMES, Variables


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
