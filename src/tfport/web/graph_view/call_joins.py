"""How the inputs and outputs of a node are joined with the arguments and results of the graphs that it calls.

Known for calls, branches and loops, whose inputs are the arguments one by one. Other nodes that have
functions, such as those of `tf.data`, call them with elements that come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfport.formats.lite.records import LiteFile, LiteOperator
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Node
from tfport.graph.inline import CALLS
from tfport.web.graph_view.columns import GraphCall

FIRST_INPUTS = {
    **dict.fromkeys((*CALLS, "While", "StatelessWhile", "_While"), 0),
    **dict.fromkeys(("If", "StatelessIf", "_If", "Case", "StatelessCase"), 1),
}
"""The input that is the first argument: the condition or the index of a branch is not passed on."""
LITE_FIRST_INPUTS = {"CALL": 0, "WHILE": 0, "STABLEHLO_WHILE": 0, "IF": 1, "STABLEHLO_CASE": 1}
CONDITIONS = ("cond", "cond_subgraph_index")
"""The graph that decides whether a loop goes on; its result is no output."""


def node_call(node: Node, place: int, ids: Mapping[str, str]) -> GraphCall:
    """The call of a node; `ids` are the graphs of the functions that it names."""
    graphs = list(dict.fromkeys(ids.values()))
    first = 0 if node.op in ids else FIRST_INPUTS.get(node.op)
    functions = node.graph.library.functions
    if first is None or any(len(functions[name].arguments) != len(node.inputs) - first for name in ids):
        return GraphCall(place, graphs)
    condition = node.attr(CONDITIONS[0])
    decides = ids.get(condition.name) if isinstance(condition, FunctionRef) else None
    return GraphCall(place, graphs, first, [id for id in graphs if id != decides])


def operator_call(op: LiteOperator, place: int, called: Mapping[str, int], file: LiteFile) -> GraphCall:
    """The call of an operator of a TensorFlow Lite file; `called` are the subgraphs by option."""
    graphs = list(dict.fromkeys(f"s{number}" for number in called.values()))
    first = LITE_FIRST_INPUTS.get(op.code.name)
    counts = {len(file.subgraphs[number].inputs) for number in called.values()}
    if first is None or counts != {len(op.inputs) - first}:
        return GraphCall(place, graphs)
    results = dict.fromkeys(f"s{n}" for option, n in called.items() if option not in CONDITIONS)
    return GraphCall(place, graphs, first, list(results))
