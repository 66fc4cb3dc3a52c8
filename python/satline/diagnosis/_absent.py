"""Users who were to work and never could: their log-on had failed for good."""

from __future__ import annotations

from satline.reduction import Source, reading

_FAILED = """
    SELECT count(*), arg_min("text", monotonic_ns) FROM event WHERE event = 'log-on-failed'"""
_MOST_CHARACTERS = 120
LOG_ON_ADVICE = (
    "See why they could not log on, mend it or give them longer (log_on_seconds in the study's [load]), "
    "and run it again."
)


def absent_users(recording: Source) -> str | None:
    """How many log-ons failed for good, and why the first, as a clause; ``None``: none did.

    The emulator does not try such a user again, so that fewer worked than the load says, and what was seen
    at it is of a lighter one.
    """
    connection = reading(recording)
    try:
        count, first = connection.execute(_FAILED).fetchone() or (0, None)
    finally:
        connection.close()
    if not count:
        return None
    why = str(first or "no reason is recorded")
    why = why if len(why) <= _MOST_CHARACTERS else f"{why[:_MOST_CHARACTERS]}…"
    which = "1 log-on" if count == 1 else f"{count} log-ons"
    return f"{which} failed for good, so that fewer users worked than the load says ({why})"
