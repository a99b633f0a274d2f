"""Counters, gauges and histograms with labels, cheap enough for every request.

    requests = Counter("requests", "Completed requests.", "model code")
    requests.add(1, "half_plus_two", "OK")

They are thread-safe. Label values that clients choose, such as model names, cannot fill the memory:
beyond `MOST_CELLS` sets of labels, everything else is counted together. `prometheus_text` prints them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


MOST_CELLS = 4096
OTHER = "(other)"
"""Label value of everything that is counted together."""

Labels = tuple[str, ...]


def exponential(scale: float, growth: float, count: int) -> tuple[float, ...]:
    """Return bucket limits, each `growth` times the previous one."""
    return tuple(scale * growth**i for i in range(count))


class Counter:
    """A value that only grows."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: str = "") -> None:
        self.name, self.help, self.labels = name, help, tuple(labels.split())
        self._cells: dict[Labels, float] = {} if labels else {(): 0}
        self._lock = threading.Lock()

    def add(self, amount: float, *labels: str) -> None:
        with self._lock:
            if labels not in self._cells:
                labels = _known(self._cells, labels)
            self._cells[labels] = self._cells.get(labels, 0) + amount

    def forget(self, *labels: str) -> None:
        """Remove the counts of label sets that begin with these labels."""
        with self._lock:
            _forget(self._cells, labels)

    def cells(self) -> list[tuple[Labels, float]]:
        with self._lock:
            return list(self._cells.items())


class Gauge(Counter):
    """A value that goes up and down."""

    kind = "gauge"

    def set(self, value: float, *labels: str) -> None:
        with self._lock:
            self._cells[_known(self._cells, labels)] = value


@dataclass(slots=True)
class Distribution:
    """Number of values per bucket; the last bucket has no upper limit."""

    counts: list[int]
    sum: float = 0.0

    def cumulative(self) -> Iterator[int]:
        total = 0
        for count in self.counts:
            total += count
            yield total


class Histogram:
    """Distribution of values over buckets."""

    kind = "histogram"

    def __init__(self, name: str, help: str, labels: str, limits: tuple[float, ...]) -> None:
        self.name, self.help, self.labels, self.limits = name, help, tuple(labels.split()), limits
        self._cells: dict[Labels, Distribution] = {} if labels else {(): self._empty()}
        self._lock = threading.Lock()

    def add(self, value: float, *labels: str) -> None:
        self.add_all((value,), *labels)

    def add_all(self, values: Sequence[float], *labels: str) -> None:
        """Add several values with the same labels."""
        limits = self.limits
        with self._lock:
            cell = self._cells.get(labels)
            if cell is None:
                cell = self._cells.setdefault(_known(self._cells, labels), self._empty())
            for value in values:
                cell.counts[bisect_left(limits, value)] += 1
                cell.sum += value

    def forget(self, *labels: str) -> None:
        """Remove the distributions of label sets that begin with these labels."""
        with self._lock:
            _forget(self._cells, labels)

    def cells(self) -> list[tuple[Labels, Distribution]]:
        with self._lock:
            return [(at, Distribution(list(cell.counts), cell.sum)) for at, cell in self._cells.items()]

    def _empty(self) -> Distribution:
        return Distribution([0] * (len(self.limits) + 1))


Instrument = Counter | Histogram


def _forget(cells: dict[Labels, float] | dict[Labels, Distribution], begin: Labels) -> None:
    for labels in [labels for labels in cells if labels[: len(begin)] == begin]:
        del cells[labels]


def _known(cells: dict[Labels, float] | dict[Labels, Distribution], labels: Labels) -> Labels:
    """Return the cell for these labels, or the shared one if there are too many."""
    if labels in cells or len(cells) < MOST_CELLS:
        return labels
    return (OTHER,) * len(labels)


# Prometheus' text format

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(instruments: Iterable[Instrument], registry: CollectorRegistry) -> bytes:
    """Return the page that Prometheus scrapes: these instruments, then the metrics of a registry.

    Names are written unchanged: the client library would add `_total` to TensorFlow Serving's counters, and
    existing dashboards use them without it.
    """
    from prometheus_client import generate_latest

    lines = [line for instrument in instruments for line in _family(instrument)]
    return "".join(f"{line}\n" for line in lines).encode() + generate_latest(registry)


def _family(instrument: Instrument) -> Iterator[str]:
    name = instrument.name
    yield f"# HELP {name} {instrument.help}"
    yield f"# TYPE {name} {instrument.kind}"
    if isinstance(instrument, Histogram):
        for values, cell in instrument.cells():
            labels = _pairs(instrument.labels, values)
            limits = [*(f"{limit:g}" for limit in instrument.limits), "+Inf"]
            total = 0
            for limit, total in zip(limits, cell.cumulative(), strict=True):
                le = f'le="{limit}"'
                yield f"{name}_bucket{_braces([*labels, le])} {total}"
            yield f"{name}_sum{_braces(labels)} {cell.sum:.17g}"
            yield f"{name}_count{_braces(labels)} {total}"
    else:
        for values, value in instrument.cells():
            yield f"{name}{_braces(_pairs(instrument.labels, values))} {value:.17g}"


def _pairs(names: Iterable[str], values: Iterable[str]) -> list[str]:
    return [f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)]


def _braces(pairs: list[str]) -> str:
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    """Escape a label's value; a lone surrogate is written as `?`."""
    plain = value.encode("utf-8", "replace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
