"""Convert attributes of nodes written for an older definition of their op to the newest one."""

from __future__ import annotations

from collections.abc import Mapping

from tfport.graph.attrs import Attr
from tfport.graph.op_signature import OpSignature

_COUNT, _TYPES = "num_args", "TArgs"


def upgraded_attrs(attrs: Mapping[str, Attr], signature: OpSignature) -> Mapping[str, Attr]:
    """The attributes of a node, as the newest definition of its op has them.

    The fused ops of TensorFlow 1.15, which TensorFlow.js still writes, take `num_args` tensors of
    one type; newer ones list the type of each tensor.
    """
    count = attrs.get(_COUNT)
    if isinstance(count, int) and _TYPES in signature.attr_types and _TYPES not in attrs:
        return {**attrs, _TYPES: [attrs.get("T")] * max(count, 0)}
    return attrs
