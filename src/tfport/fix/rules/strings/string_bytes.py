"""Strings taken apart into bytes and put together again, with what the first releases have, for rules to use.

StringSplit without a delimiter gives one string for each byte, and where it stood. What is done to
bytes is a table of 256 entries; what is done within strings is arithmetic on a matrix with a row
for each string.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tfport.fix.nodes.builder import NodeBuilder
from tfport.graph.dtypes import INT32, STRING
from tfport.graph.graph import Node, Value

Number = int | Value | Node


class Bytes:
    """The bytes of all strings of a value, in their order."""

    def __init__(self, op: NodeBuilder, value: Value) -> None:
        self.op, self.value = op, value
        split = op.StringSplit(op.Reshape(value, [-1]), b"", skip_empty=False)
        self.places, self.bytes = split.output(0), split.output(1)
        # one column more: there is one even where all strings are empty
        self.shape = op.Add(split.output(2), [0, 1])

    @cached_property
    def codes(self) -> Node:
        """The bytes as numbers."""
        numbers = self.op.DecodeRaw(self.bytes, out_type="uint8")
        return self.op.Cast(self.op.Reshape(numbers, [-1]), DstT="int32")

    def mapped(self, to: Sequence[bytes]) -> Node:
        """What a table of 256 makes of each byte."""
        return self.op.Gather(self.op.const(list(to), STRING), self.codes)

    def numbered(self, to: Sequence[int]) -> Node:
        """What a table of 256 numbers makes of each byte."""
        return self.op.Gather(self.op.const(list(to), INT32), self.codes)

    def matrix(self, of: Node | Value, default: object) -> Node:
        """Something of each byte as a matrix with a row for each string."""
        return self.op.SparseToDense(self.places, self.shape, of, default)

    def joined(self, bytes_: Node | Value) -> Node:
        """The strings, with something in place of each byte."""
        return self.shaped(self.op.ReduceJoin(self.matrix(bytes_, b""), [1]))

    def kept(self, keep: Node) -> Node:
        """The strings without the bytes of which a matrix says false."""
        matrix = self.matrix(self.bytes, b"")
        nothing = self.op.Fill(self.op.Shape(matrix, out_type="int32"), b"")
        return self.shaped(self.op.ReduceJoin(self.op.Select(keep, matrix, nothing), [1]))

    def shaped(self, flat: Node) -> Node:
        """What is one for each string, in the shape of the strings."""
        return self.op.Reshape(flat, self.op.Shape(self.value, out_type="int32"))


def single_bytes() -> list[bytes]:
    """Every byte as it is."""
    return [bytes([code]) for code in range(256)]


def leads(code: int) -> int:
    """1 for a byte with which a character of UTF-8 begins, 0 for one that continues it."""
    return int(code & 0xC0 != 0x80)
