"""Progress on a terminal: a spinner for work that takes more than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_SECONDS = 2.0


@contextmanager
def show_progress(activity: str) -> Iterator[None]:
    """While the block runs, show on standard error what is being done, if it takes long."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    spinner = threading.Thread(target=_spin, args=(activity, done), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        done.set()
        spinner.join()


def _spin(activity: str, done: threading.Event) -> None:
    if done.wait(DELAY_SECONDS):
        return
    from rich.console import Console

    with Console(stderr=True).status(activity):
        done.wait()
