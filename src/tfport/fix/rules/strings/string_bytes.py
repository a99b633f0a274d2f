"""Split strings into bytes and join them again, with ops that every release has.

StringSplit without a delimiter returns one string for each byte, and its index. Bytes are mapped by
a table of 256 entries; operations within strings are arithmetic on a matrix with a row per string.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tfport.fix.nodes.builder import NodeBuilder
from tfport.graph.dtypes import INT32, STRING
from tfport.graph.graph import Node, Value


class StringBytes:
    """The bytes of all strings of a value, in order."""

    def __init__(self, op: NodeBuilder, value: Value) -> None:
        self.op, self.value = op, value
        split = op.StringSplit(op.Reshape(value, [-1]), b"", skip_empty=False)
        self.places, self.bytes = split.output(0), split.output(1)
        # an extra column, so that there is one even if all strings are empty
        self.shape = op.Add(split.output(2), [0, 1])

    @cached_property
    def codes(self) -> Node:
        """The bytes as integers."""
        numbers = self.op.DecodeRaw(self.bytes, out_type="uint8")
        return self.op.Cast(self.op.Reshape(numbers, [-1]), DstT="int32")

    def mapped(self, to: Sequence[bytes]) -> Node:
        """Map each byte by a table of 256 strings."""
        return self.op.Gather(self.op.const(list(to), STRING), self.codes)

    def numbered(self, to: Sequence[int]) -> Node:
        """Map each byte by a table of 256 numbers."""
        return self.op.Gather(self.op.const(list(to), INT32), self.codes)

    def matrix(self, of: Node | Value, default: object) -> Node:
        """Values of the bytes as a matrix with a row for each string."""
        return self.op.SparseToDense(self.places, self.shape, of, default)

    def joined(self, bytes_: Node | Value) -> Node:
        """The strings, with a replacement for each byte."""
        return self.shaped(self.op.ReduceJoin(self.matrix(bytes_, b""), [1]))

    def kept(self, keep: Node) -> Node:
        """The strings without the bytes for which a mask is false."""
        matrix = self.matrix(self.bytes, b"")
        nothing = self.op.Fill(self.op.Shape(matrix, out_type="int32"), b"")
        return self.shaped(self.op.ReduceJoin(self.op.Select(keep, matrix, nothing), [1]))

    def shaped(self, flat: Node) -> Node:
        """One value for each string, in the shape of the strings."""
        return self.op.Reshape(flat, self.op.Shape(self.value, out_type="int32"))


def single_bytes() -> list[bytes]:
    """Every byte as a string."""
    return [bytes([code]) for code in range(256)]


def leads(code: int) -> int:
    """1 for a byte that starts a UTF-8 character, 0 for a continuation byte."""
    return int(code & 0xC0 != 0x80)
