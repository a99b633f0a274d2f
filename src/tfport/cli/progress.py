"""A sign of life for what takes longer than two seconds, on a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AFTER_SECONDS = 2.0


@contextmanager
def show_progress(doing: str) -> Iterator[None]:
    """While the block runs, say on standard error what is being done, if it takes long."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    sign = threading.Thread(target=_show, args=(doing, done), daemon=True)
    sign.start()
    try:
        yield
    finally:
        done.set()
        sign.join()


def _show(doing: str, done: threading.Event) -> None:
    if done.wait(AFTER_SECONDS):
        return
    from rich.console import Console

    with Console(stderr=True).status(doing):
        done.wait()
