"""Progress on a terminal: a line on standard error that is written again, for work of more than two seconds.

With the environment variable `TFPORT_PROGRESS`, each step is a line of JSON on standard error instead.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from tfport.progress_step import LINES, ProgressStep
from tfport.reports.lines import columns_of, terminal_width
from tfport.words import printable

DELAY_SECONDS = 2.0
REFRESH_SECONDS = 0.2
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
BAR = 30
Result = TypeVar("Result")


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
        line = TerminalLine()
        for frame in itertools.cycle(FRAMES):
            line.show(f"{frame} {self.activity}")
            if self.done.wait(REFRESH_SECONDS):
                break
        line.clear()


class TerminalLine:
    """The last line of a terminal, without escape sequences: a console without them shows it too."""

    def __init__(self) -> None:
        self._columns = 0

    @property
    def is_shown(self) -> bool:
        return self._columns > 0

    def show(self, text: str) -> None:
        """Write this instead of what was there."""
        width = max(terminal_width() - 1, 1)
        shown = (
            printable(text) if columns_of(printable(text)) <= width else f"{printable(text)[: width // 2]}…"
        )
        columns = columns_of(shown)
        self._write("\r" + shown + " " * (self._columns - columns))
        self._columns = columns

    def clear(self) -> None:
        self._write("\r" + " " * self._columns + "\r")
        self._columns = 0

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            sys.stderr.write(text)
            sys.stderr.flush()


class ProgressBar:
    """How much of a known number of things is done, with a note; written a few times a second."""

    def __init__(self) -> None:
        self._line, self._started, self._shown = TerminalLine(), monotonic(), 0.0

    @property
    def seconds(self) -> float:
        """Since it began."""
        return monotonic() - self._started

    def show(self, doing: str, done: int, total: int | None, note: str = "") -> None:
        now = monotonic()
        if self._line.is_shown and now - self._shown < REFRESH_SECONDS and done != total:
            return
        self._shown = now
        if not total:
            self._line.show(f"{doing} {done:,}")
            return
        filled = BAR * done // total
        left = round(self.seconds * (total - done) / done) if done else 0
        clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}" if done else "-:--:--"
        bar = "━" * filled + " " * (BAR - filled)
        self._line.show("  ".join(filter(None, [doing, bar, f"{done}/{total}", note, clock])))

    def clear(self) -> None:
        self._line.clear()


def with_progress_bar(results: Iterable[Result], total: int, doing: str) -> Iterator[Result]:
    """The same results, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from results
        return
    bar = ProgressBar()
    try:
        bar.show(doing, 0, total)
        for done, result in enumerate(results, 1):
            bar.clear()  # the result may be printed
            yield result
            bar.show(doing, done, total)
    finally:
        bar.clear()
