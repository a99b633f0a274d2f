"""Write metrics in Prometheus' text format.

Names are written unchanged: the client library would add `_total` to TensorFlow Serving's counters, and
existing dashboards use them without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tfport.serve.monitoring.instruments import Histogram, Instrument

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(instruments: Iterable[Instrument], registry: CollectorRegistry) -> bytes:
    """Return the page that Prometheus scrapes: these instruments, then the metrics of a registry."""
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
