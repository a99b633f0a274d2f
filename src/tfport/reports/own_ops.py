"""The ops of tfport's own runtime as text, by how each runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.reports.console import flowing, indented, title
from tfport.reports.layout import ReportPart
from tfport.runtime.own_target import IN_NUMPY, IN_ONNX, WHILE_PLANNING

OWN_TITLES = {
    (IN_ONNX, IN_NUMPY): "in ONNX and in NumPy",
    (IN_ONNX,): "in ONNX",
    (IN_NUMPY,): "in NumPy",
    (WHILE_PLANNING,): "while planning",
    (): "defined, but without a kernel",
}


def own_ops_text(
    ways: Mapping[str, tuple[str, ...]], providers: Mapping[str, str | None], width: int
) -> Iterator[ReportPart]:
    """The ops of tfport's own runtime by how they run, and the sources of custom ops."""
    running = sum(map(bool, ways.values()))
    yield title("tfport runs", "1 op" if running == 1 else f"{running} ops")
    for how in dict.fromkeys(ways.values()):
        names = [name for name, way in ways.items() if way == how]
        yield title(OWN_TITLES.get(how, " and ".join(how)), str(len(names)))
        yield indented(flowing(names, width - 2))
    for provider in dict.fromkeys(filter(None, providers.values())):
        names = [name for name, source in providers.items() if source == provider]
        yield title(f"from {provider}", str(len(names)))
        yield indented(flowing(names, width - 2))
