"""XLA dimension numbers: serialized messages of integers in op attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfport.errors import RunFailed
from tfport.formats.encoding.wire import from_varint

DOT = {"lhs_contract": 1, "rhs_contract": 2, "lhs_batch": 3, "rhs_batch": 4}
CONVOLUTION = {
    "input_batch": 7, "input_feature": 8, "input_spatial": 11, "kernel_input": 3, "kernel_output": 4,
    "kernel_spatial": 6, "output_batch": 9, "output_feature": 10, "output_spatial": 12,
}  # fmt: skip
GATHER = {
    "offset_dims": 1, "collapsed": 2, "start_index_map": 3, "index_vector_dim": 4, "operand_batching": 5,
    "indices_batching": 6,
}  # fmt: skip
SCATTER = {
    "update_window": 1, "inserted": 2, "axes": 3, "index_vector_dim": 4, "operand_batching": 5,
    "indices_batching": 6,
}  # fmt: skip


def dimension_numbers(message: Any, fields: Mapping[str, int]) -> dict[str, list[int]]:
    """The lists of integers in a message, by name; empty if missing."""
    raw = message.encode() if isinstance(message, str) else bytes(message)
    numbers: dict[int, list[int]] = {}
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        if tag & 7 == 0:
            value, at = _varint(raw, at)
            numbers.setdefault(tag >> 3, []).append(_signed(value))
        elif tag & 7 == 2:
            length, at = _varint(raw, at)
            end = at + length
            if end > len(raw):
                raise RunFailed("dimension_numbers is truncated")
            while at < end:
                value, at = _varint(raw, at)
                numbers.setdefault(tag >> 3, []).append(_signed(value))
        else:
            raise RunFailed(f"dimension_numbers has a field of unexpected wire type {tag & 7}")
    return {name: numbers.get(number, []) for name, number in fields.items()}


def only(numbers: list[int]) -> int:
    """The value of a scalar field; 0 if missing."""
    return numbers[-1] if numbers else 0


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    try:
        return from_varint(raw, at)
    except ValueError:
        raise RunFailed("dimension_numbers is truncated") from None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
