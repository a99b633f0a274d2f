"""Progress on a terminal: a spinner for work that takes more than two seconds.

With the environment variable `TFPORT_PROGRESS`, each step is a line of JSON on standard error instead.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tfport.progress_step import LINES, ProgressStep

DELAY_SECONDS = 2.0
REFRESH_SECONDS = 0.2


@contextmanager
def show_progress(activity: str) -> Iterator[Callable[[str], None]]:
    """While the block runs, show on standard error what is being done, if it takes long.

    Yields a function that changes what is shown.
    """
    if os.environ.get(LINES):
        yield _print_line
        return
    if not sys.stderr.isatty():
        yield lambda doing: None
        return
    spinner = _Spinner(activity)
    spinner.thread.start()
    try:
        yield spinner.show
    finally:
        spinner.done.set()
        spinner.thread.join()


def _print_line(doing: str) -> None:
    """For a program that reads standard error: one JSON object in a line."""
    fraction = doing.fraction if isinstance(doing, ProgressStep) else None
    print(json.dumps({"progress": doing, "fraction": fraction}), file=sys.stderr, flush=True)


class _Spinner:
    """A thread that shows a line."""

    def __init__(self, activity: str) -> None:
        self.activity = activity
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._spin, daemon=True)

    def show(self, doing: str) -> None:
        self.activity = doing

    def _spin(self) -> None:
        if self.done.wait(DELAY_SECONDS):
            return
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(escape(self.activity)) as status:
            while not self.done.wait(REFRESH_SECONDS):
                status.update(escape(self.activity))
