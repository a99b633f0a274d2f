"""Check that an operation succeeds or raises a tfport error with a one-line message."""

from collections.abc import Iterator
from contextlib import contextmanager

from tfport.errors import Error


@contextmanager
def reads_or_raises_one_line() -> Iterator[None]:
    """Accept success or a tfport error with a one-line message; fail on anything else."""
    try:
        yield
    except Error as error:
        assert_one_line(error)


def assert_one_line(error: Error) -> str:
    """Return the message of an error; it must be exactly one line."""
    message = str(error)
    assert message.strip()
    assert len(message.splitlines()) == 1, message
    return message
