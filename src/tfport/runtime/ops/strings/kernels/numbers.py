"""StringToNumber."""

from __future__ import annotations

from tfport.runtime.lower import host
from tfport.runtime.ops.strings.number_parsing import numbers


@host("StringToNumber")
def string_to_number(string_tensor, *, out_type):
    return numbers(string_tensor.reshape(-1).tolist(), out_type.numpy).reshape(string_tensor.shape)
