"""Where in a TensorFlow Lite file something is, for people."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.formats.lite.records import LiteFile, LiteTensor, OperatorCode, Subgraph

SHOWN = 3


def node_places(file: LiteFile, code: OperatorCode) -> str:
    """The nodes with an operator code: `nodes 3, 7 and 12`; empty if no node has it."""
    several = len(file.subgraphs) > 1
    indices = [
        f"{number} of {_name(subgraph, at)}" if several else str(number)
        for at, subgraph in enumerate(file.subgraphs)
        for number, node in enumerate(subgraph.operators)
        if node.code == code
    ]
    return f"{'node' if len(indices) == 1 else 'nodes'} {listed(indices)}" if indices else ""


def tensor_place(tensor: LiteTensor, subgraph: Subgraph) -> str:
    return f"tensor `{tensor.name}`" if tensor.name else f"a tensor of {_name(subgraph, 0)}"


def _name(subgraph: Subgraph, at: int) -> str:
    return f"subgraph `{subgraph.name}`" if subgraph.name else f"subgraph {at}"


def listed(places: Sequence[str]) -> str:
    """`3, 7, 12 and 5 more`."""
    shown = list(places) if len(places) <= SHOWN + 1 else [*places[:SHOWN], f"{len(places) - SHOWN} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
