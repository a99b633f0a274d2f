"""Output shapes of string host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.onnx.shape_rule import broadcast
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.shapes import Shapes


@shapes(
    "AsString RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace "
    "StringLength StringLower StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong "
    "StringToNumber StringUpper UnicodeScript UnicodeTranscode"
)
def same(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [inputs[0].shape]


@shapes("Substr")
def together(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    return [broadcast(inputs[0].shape, inputs[1].shape)]


@shapes("StringJoin")
def joined(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    """All inputs have one shape, except scalars."""
    if any(operand.shape is None for operand in inputs):
        return [None]
    return [next((operand.shape for operand in inputs if operand.shape), ())]
