"""Pause Python's search for garbage in cycles while many objects are made that all stay.

The interpreter searches whenever it has made enough objects. A graph or a program has hundreds of
thousands, none of them garbage, and searching them again and again takes longer than making them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Do not search inside this block, or in calls of the decorated function."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _make_all_old()
        gc.enable()


def _make_all_old() -> None:
    """Let the next search skip what was made: only a search of all objects looks at it."""
    if not gc.get_freeze_count():  # otherwise the program froze objects, which stay so
        gc.freeze()
        gc.unfreeze()
