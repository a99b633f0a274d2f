"""Strings joined, lowered to ONNX for exported files.

ONNX splits at blanks only, so StringSplitV2 has no lowering.
"""

from __future__ import annotations

from tfport.graph.dtypes import STRING
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes


@lower("StringJoin")
def string_join(b, inputs, *, separator):
    if not inputs:
        raise CannotLower("it joins nothing")
    joined = inputs[0]
    between = b.const(string_array([attr_bytes(separator)], ()), STRING) if separator else None
    if len(inputs) == 1:
        return b.Identity(joined)
    for text in inputs[1:]:
        joined = b.StringConcat(joined, between) if between is not None else joined
        joined = b.StringConcat(joined, text)
    return joined
