"""Errors that a user can act on."""

from __future__ import annotations


class SatlineError(Exception):
    """Something the user can mend: says what is wrong, where, and what to do.

    Parameters
    ----------
    message
        What is wrong, naming the file and the place in it.
    hint
        The remedy, one sentence, or empty. A traceback shows it below the message.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class InputError(SatlineError):
    """Wrong input: a file, key, option or permission. The command ends with exit code 2."""

    exit_code = 2
