"""Which subgraphs of a file each entry point runs."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.formats.lite.records import LiteFile, LiteOperator

SUBGRAPH = ("subgraph", "_subgraph_index")
"""How the names of options that refer to a subgraph end."""
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
    """The subgraphs that each signature runs; one entry without a name if there is no signature."""
    if not file.signatures:
        return {"": reached(file, MAIN)}
    return {signature.key: reached(file, signature.subgraph) for signature in file.signatures}
