"""The one error that a user is meant to read."""

from collections.abc import Sequence


class InputError(ValueError):
    """Bad input: one sentence that names the input, what is wrong with it and what to do.

    The command line prints the sentence and exits with code 2; Python callers can catch it as a
    `ValueError`.
    """


def did_you_mean(near: Sequence[str], otherwise: str) -> str:
    """How a message about an unknown word ends: with the words nearest to it, or else with what there is."""
    return f"did you mean {' or '.join(near)}?" if near else otherwise
