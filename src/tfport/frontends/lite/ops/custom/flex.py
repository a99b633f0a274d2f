"""TensorFlow's own ops in a file: Flex ops with a NodeDef, and custom ops that have the name of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError

from tfport.formats.lite.flexbuffer import custom_options, decode_flexbuffer
from tfport.formats.proto import graph_pb2
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import custom
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.attrs import decode_all
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import OpSignature


@custom("Flex")
def flex(b: OperatorBuilder, *inputs: LiteValue) -> list[Value]:
    """The custom options are the name of the op and its NodeDef."""
    record = graph_pb2.NodeDef()
    try:
        name, stored = decode_flexbuffer(b.operator.custom_options, strings_as_bytes=True)
        record.ParseFromString(bytes(stored))
    except (DecodeError, TypeError, ValueError):
        raise b.refuse("its custom options are not a NodeDef") from None
    if record.op != b.operator.code.flex_op or name != record.op.encode():
        raise b.refuse(f"its custom options are of {record.op}")
    signature = _signature(b, record.op)
    attrs = decode_all({key: value for key, value in record.attr.items() if key in signature.attr_types})
    return _outputs(b, signature, list(inputs), attrs)


@custom("*")
def same_name(b: OperatorBuilder, *inputs: LiteValue) -> list[Value]:
    """The custom options are the attributes; types follow from the tensors."""
    signature = _signature(b, b.operator.code.custom)
    stored = custom_options(b.operator.custom_options)
    of_tensors = {arg.type_attr for arg in (*signature.inputs, *signature.outputs)}
    attrs = {
        name: _attr(stored[name], attr_type)
        for name, attr_type in signature.attr_types.items()
        if name in stored and name not in of_tensors
    }
    for arg in signature.inputs:
        if arg.number_attr:
            attrs.setdefault(arg.number_attr, len(inputs) - len(signature.inputs) + 1)
    for arg, tensor in zip(signature.outputs, b.outputs, strict=False):
        is_of_input = any(arg.type_attr == other.type_attr for other in signature.inputs)
        if arg.type_attr and not is_of_input:
            attrs[arg.type_attr] = b.dtype(tensor.type)
    return _outputs(b, signature, list(inputs), attrs)


def _signature(b: OperatorBuilder, op: str) -> OpSignature:
    signature = b.graph.signature_of(op)
    if signature is None:
        raise b.refuse(f"TensorFlow has no op {op}")
    return signature


def _outputs(
    b: OperatorBuilder, signature: OpSignature, inputs: list[Any], attrs: dict[str, Any]
) -> list[Value]:
    add = b.effect if signature.stateful else b.node
    node: Node = add(signature.name, *inputs, **attrs)
    return [node.output(index) for index in range(len(b.operator.outputs))]


def _attr(value: Any, attr_type: str) -> Any:
    """An attribute from the value of a flexbuffer, which knows fewer types."""
    if attr_type.startswith("list("):
        return [_attr(element, attr_type[5:-1]) for element in value]
    makers: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "type": DType.of}
    make = makers.get(attr_type)
    return value if make is None else make(value)
