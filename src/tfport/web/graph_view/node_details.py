"""A node of a graph of TensorFlow ops in detail: attributes, inputs, readers, called graphs, value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import OpSignature
from tfport.graph.tensors import Tensor
from tfport.graph.text import attr_text, node_text
from tfport.web.graph_view.columns import VERSION
from tfport.web.graph_view.node_graph import MISSING
from tfport.web.graph_view.tensor_peek import tensor_peek
from tfport.web.graph_view.value_types import ValueTypes

MOST_READERS = 100
MOST_EDGES = 1000
LONGEST = 4000
HIDDEN = ("_output_shapes",)


GraphId = Callable[[str], "str | None"]
"""Returns the id of a function's graph; None for an undefined function."""


def node_details(
    id: str, names: dict[Node, str], node: Node, *, role: int, tensor: str | None, graph_id: GraphId
) -> dict[str, Any]:
    """The document of a node; `names` has the nodes of its graph, by their names in the columns.

    `tensor` is the key of the stored tensor behind it.
    """
    types = ValueTypes()
    since, until = known_ops().lifetime(node.op)
    attrs = _decoded(node)
    return {
        "version": VERSION,
        "graph": id,
        "node": names[node],
        "op": node.op or MISSING,
        "device": node.device,
        "role": role,
        "attributes": node_attributes(node),
        "inputs": [
            {"argument": argument, "node": names[value.node], "index": value.index, "type": types.text(value)}
            for argument, value in zip(_arguments(node, attrs), node.inputs[:MOST_EDGES], strict=False)
        ],
        "controls": [names[control] for control in node.controls[:MOST_EDGES]],
        "outputs": list(_outputs(node, names, types)),
        "control_readers": [names[user] for user in node.control_users[:MOST_READERS] if user in names],
        "calls": list(_calls(graph_id, attrs, node)),
        "value": _value(attrs) if node.op == "Const" else None,
        "tensor": tensor,
        "since": since,
        "until": until,
        "text": _shortened(_text(node)),
    }


def node_attributes(node: Node) -> list[dict[str, Any]]:
    """The attributes of a node, and the defaults of those that the file leaves out."""
    return list(_attributes(node.signature, _decoded(node)))


def _decoded(node: Node) -> dict[str, Attr]:
    """The attributes; none if one of them cannot be decoded, which `check` reports."""
    try:
        return node.attrs
    except MalformedGraph:
        return {}


def _attributes(signature: OpSignature | None, attrs: dict[str, Attr]) -> Iterator[dict[str, Any]]:
    shown = {key: value for key, value in attrs.items() if key not in HIDDEN}
    defaults = signature.defaults if signature is not None else {}
    for key in sorted({*shown, *defaults}):
        is_default = key not in shown
        value = defaults[key] if is_default else shown[key]
        yield {"name": key, "value": _shortened(attr_text(value)), "default": is_default}


def _arguments(node: Node, attrs: dict[str, Attr]) -> Iterator[str]:
    """The name of the argument of each input; empty where the op is not defined."""
    signature = node.signature
    if signature is not None:
        known = signature.with_defaults(attrs)
        for arg in signature.inputs:
            try:
                count = arg.count(known)
            except (KeyError, TypeError):
                break
            yield from (
                arg.name if not arg.is_list else f"{arg.name}[{i}]" for i in range(min(count, MOST_EDGES))
            )
    while True:
        yield ""


def _outputs(node: Node, names: dict[Node, str], types: ValueTypes) -> Iterator[dict[str, Any]]:
    try:
        outputs = node.outputs[:MOST_EDGES]
    except MalformedGraph:
        outputs = node.read_outputs
    for value in outputs:
        readers = [names[user] for user in value.uses if user in names]
        yield {
            "argument": _port(value),
            "index": value.index,
            "type": types.text(value),
            "readers": readers[:MOST_READERS],
            "more": max(0, len(readers) - MOST_READERS),
        }


def _port(value: Value) -> str:
    try:
        port = value.port
    except MalformedGraph:
        return ""
    return port[0] if port is not None else ""


def _calls(graph_id: GraphId, attrs: dict[str, Attr], node: Node) -> Iterator[dict[str, str]]:
    called = [("", node.op)] if graph_id(node.op or "") else []
    for attribute, name in chain(called, _function_attributes(attrs)):
        id = graph_id(name)
        if id is not None:
            yield {"attribute": attribute, "graph": id, "name": name}


def _function_attributes(attrs: dict[str, Attr]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(attrs.items()):
        for reference in value if isinstance(value, list) else [value]:
            if isinstance(reference, FunctionRef):
                yield key, reference.name


def _value(attrs: dict[str, Attr]) -> dict[str, Any] | None:
    tensor = attrs.get("value")
    if not isinstance(tensor, Tensor):
        return None
    return tensor_peek(str(tensor.dtype), tensor.shape, None, tensor.numpy)


def _text(node: Node) -> str:
    try:
        return node_text(node)
    except MalformedGraph as error:
        return str(error)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
