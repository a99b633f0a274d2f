"""Constants in a graph: find them, fold nodes that depend on constants only, and read constant permutations.

The caller evaluates the nodes: `fold` takes a function for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.graph.graph import Function, Graph, Node, Value
from tfport.graph.reach import in_order
from tfport.graph.tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


Evaluate = Callable[[Node, list["NDArray[Any]"]], "Sequence[NDArray[Any]] | None"]


def constant(value: Value) -> Tensor | None:
    """The tensor of a value that is the output of a Const node; else None."""
    if value.node.op != "Const":
        return None
    tensor = value.node.attrs.get("value")
    return tensor if isinstance(tensor, Tensor) else None


def constant_texts(value: Value) -> list[str]:
    """The strings of a constant; none for another value, or a constant of other elements."""
    tensor = constant(value)
    try:
        return [s.decode(errors="replace") for s in tensor.strings()] if tensor is not None else []
    except UnreadableFile:  # a constant, but not of strings
        return []


def fold(graph: Graph, evaluate: Evaluate) -> int:
    """Replace nodes whose inputs are all constants by constants; return the number of replaced nodes.

    `evaluate` gets a node and its inputs as arrays, and returns its outputs, or None
    to keep the node. It is not called for stateful nodes.
    """
    folded = 0
    for node in in_order(graph):
        constants = [t for value in node.inputs if (t := constant(value)) is not None]
        if not constants or len(constants) < len(node.inputs) or node.controls or node.is_stateful:
            continue
        results = evaluate(node, [t.numpy() for t in constants])
        if results is not None:
            _become_constant(node, results)
            folded += 1
    return folded


def _become_constant(node: Node, results: Sequence[NDArray[Any]]) -> None:
    """Replace a node under the same name, which signatures may use; several results need a constant each."""
    # a constant in a branch must wait until the branch is taken
    waits = dict.fromkeys(c for value in node.inputs for c in value.node.controls)
    types = [output.dtype for output in node.outputs]
    tensors = [Tensor.from_numpy(array, dtype) for array, dtype in zip(results, types, strict=True)]
    node.set_inputs(())
    if len(tensors) == 1:
        node.become("Const", {"dtype": types[0], "value": tensors[0]})
        node.set_controls(waits)
        return
    constants = [
        node.graph.add(
            "Const", (), {"dtype": t.dtype, "value": t}, name=node.name, controls=waits, device=node.device
        ).output(0)
        for t in tensors
    ]
    node.replace_by(constants, [node])
    node.become("IdentityN", {"T": types})
    node.set_inputs(constants)
    if isinstance(node.graph, Function) and not node.users:
        node.graph.remove(node)


# Transpositions with a constant permutation

Order = tuple[int, ...]


def permutation(value: Value) -> Order | None:
    """The permutation of a value that is the output of a Transpose with a constant permutation."""
    node = value.node
    if node.op != "Transpose" or len(node.inputs) != 2 or (known := constant(node.inputs[1])) is None:
        return None
    order = tuple(int(axis) for axis in known.numpy().reshape(-1))
    return order if sorted(order) == list(range(len(order))) else None


def inverse(order: Order) -> Order:
    return tuple(order.index(index) for index in range(len(order)))
