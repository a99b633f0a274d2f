"""QuantizeAndDequantize and Dequantize as their other versions."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder, attrs_without
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node


@rule("QuantizeAndDequantizeV4", keeps=EXACT)
def with_another_gradient(op: RuleBuilder, n: Node) -> Replacement:
    """QuantizeAndDequantizeV2 gives the same result; only its gradient differs."""
    return op.QuantizeAndDequantizeV2(*n.inputs, **n.attrs)


@rule("QuantizeAndDequantizeV3", keeps=EXACT)
def with_constant_bits(op: RuleBuilder, n: Node) -> Replacement:
    """QuantizeAndDequantizeV2 takes the number of bits as an attribute."""
    if (bits := op.array(n.inputs[3])) is None:
        return refuse("num_bits is not constant")
    return op.QuantizeAndDequantizeV2(*n.inputs[:3], **n.attrs, num_bits=int(bits))


@rule("QuantizeAndDequantizeV2", keeps=EXACT)
def with_bits_as_input(op: RuleBuilder, n: Node) -> Replacement:
    """QuantizeAndDequantizeV3 takes the number of bits as an input."""
    if n.attrs["round_mode"] != "HALF_TO_EVEN":
        return refuse(f"QuantizeAndDequantizeV3 does not support round_mode={n.attrs['round_mode']}")
    return op.QuantizeAndDequantizeV3(
        *n.inputs, n.attrs["num_bits"], **attrs_without(n, "num_bits", "round_mode")
    )


@rule("Dequantize", keeps=EXACT)
def dequantized_in_float32(op: RuleBuilder, n: Node) -> Replacement:
    """Numbers are dequantized to float32, and then cast."""
    dtype = n.attrs["dtype"]
    if dtype == FLOAT32:
        return OtherProblem("its output is float32 already")
    return op.Cast(op.Dequantize(*n.inputs, **attrs_without(n, "dtype")), DstT=dtype)
