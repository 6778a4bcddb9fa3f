"""The one error that a user is meant to read."""


class InputError(ValueError):
    """Bad input: one sentence that names the input, what is wrong with it and what to do.

    The command line prints the sentence and exits with code 2; Python callers can catch it as a
    `ValueError`.
    """
