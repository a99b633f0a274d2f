"""TensorFlowOpLayer: a node of TensorFlow in models of TensorFlow 1.15 to 2.3.

The configuration has the NodeDef, and the inputs that are constants by their index. The node is built as
it is stored, except for attributes with their default, which older releases may not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.formats.keras.records import Json
from tfport.formats.proto import graph_pb2 as pb
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import add_op
from tfport.graph.attrs import Attr, decode_all
from tfport.graph.op_signature import OpSignature


@layer("TensorFlowOpLayer", casts_inputs=False)
def tensorflow_op(b: LayerBuilder, inputs: Any, *, node_def: Json, constants: Json = None) -> Any:
    node = _node(b, node_def)
    signature = b.graph.signature_of(node.op)
    if signature is None:
        raise b.refuse(f"it computes the op `{node.op}`, which tfport does not build")
    operands = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    for index, value in sorted((int(key), value) for key, value in (constants or {}).items()):
        operands.insert(index, value)
    attrs = decode_all(node.attr)
    return add_op(b, signature, _by_argument(b, signature, operands, attrs), attrs)


def _node(b: LayerBuilder, stored: Json) -> pb.NodeDef:
    from google.protobuf.json_format import ParseDict, ParseError

    if isinstance(stored, str):
        from tfport.formats.encoding.json_text import parse_json

        stored = parse_json(stored.encode(), f"{b.model.where}: node_def", dict)
    node = pb.NodeDef()
    try:
        ParseDict(stored, node)
    except ParseError as error:
        raise b.refuse(f"its node is damaged: {error}") from error
    if not node.op:
        raise b.refuse("its node is not in the file")
    return node


def _by_argument(
    b: LayerBuilder, signature: OpSignature, operands: Sequence[Any], attrs: dict[str, Attr]
) -> list[Any]:
    """Inputs that are stored one after the other, as one entry for each argument of the op."""
    known, rest, groups = signature.with_defaults(attrs), list(operands), []
    for arg in signature.inputs:
        count = arg.count(known)
        if len(rest) < count:
            raise b.refuse(f"it passes {len(operands)} tensors to the op {signature.name}, too few")
        groups.append(rest[:count] if arg.is_list else rest[0])
        rest = rest[count:]
    if rest:
        raise b.refuse(f"it passes {len(operands)} tensors to the op {signature.name}, {len(rest)} too many")
    return groups
