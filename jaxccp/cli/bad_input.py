"""Bad input found while a command runs: a message and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxccp.cli.options import refuse
from jaxccp.io import InputError


@contextmanager
def bad_input_exits() -> Iterator[None]:
    """Print the message of an :class:`InputError` to stderr and exit with code 2."""
    try:
        yield
    except InputError as error:
        refuse(str(error))
