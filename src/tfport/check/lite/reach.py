"""Which subgraphs of a file each entry point runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfport.formats.lite.records import LiteFile, LiteOperator

SUBGRAPH = ("subgraph", "_subgraph_index")
"""How the names of options that refer to a subgraph end."""
UNNAMED = "serving_default"
"""The name of the main subgraph of a file without signatures, and of a signature without a name."""
MAIN = 0
"""The subgraph that `allocate_tensors` and `invoke` use."""


def reached(file: LiteFile, start: int) -> frozenset[int]:
    """The subgraphs that a subgraph runs, itself included."""
    seen, waiting = set[int](), [start]
    while waiting:
        number = waiting.pop()
        if number in seen or not 0 <= number < len(file.subgraphs):
            continue
        seen.add(number)
        for node in file.subgraphs[number].operators:
            waiting += called_subgraphs(node)
    return frozenset(seen)


def called_subgraphs(node: LiteOperator) -> Iterator[int]:
    """The subgraphs that an operator runs: branches, bodies, initialization."""
    for name, value in node.options.items():
        if name.endswith(SUBGRAPH) and isinstance(value, int):
            yield value


def entry_points(file: LiteFile) -> dict[str, frozenset[int]]:
    """The subgraphs that each signature runs; without any, the main subgraph is the only one."""
    if not file.signatures:
        return {UNNAMED: reached(file, MAIN)}
    return {s.key or UNNAMED: reached(file, s.subgraph) for s in file.signatures}
