"""Pause Python's search for garbage in cycles while many objects are made that all stay.

The interpreter searches whenever it has made enough objects. A graph or a program has hundreds of
thousands, none of them garbage, and searching them again and again takes longer than making them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_has_frozen_objects = False
_MOST_IMMORTAL = 5_000  # Python 3.12 freezes its own immortal objects with each search, a few hundred


@contextmanager
def gc_paused() -> Iterator[None]:
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
    """Let the next search skip what was made: only a search of all objects looks at it.

    Objects that the program froze, as a server does, stay so. Python counts them one by one, which takes long
    if they are many: it is asked until there are some, and never again.
    """
    global _has_frozen_objects
    _has_frozen_objects = _has_frozen_objects or gc.get_freeze_count() > _MOST_IMMORTAL
    if not _has_frozen_objects:
        gc.freeze()
        gc.unfreeze()
