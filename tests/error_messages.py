"""What is read or refused: a refusal is an error of ours, and one sentence on one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from tfport.errors import Error


@contextmanager
def reads_or_raises_one_line() -> Iterator[None]:
    """The block ends well or with a sentence; any other exception, and any other text, is a failure."""
    try:
        yield
    except Error as error:
        assert_one_line(error)


def assert_one_line(error: Error) -> str:
    """What an error says, which must be one line and not nothing."""
    said = str(error)
    assert said.strip()
    assert len(said.splitlines()) == 1, said
    return said
