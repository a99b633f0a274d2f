"""Sort: the order of the rows by one or more keys, in which all operands are gathered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloBody, HloOp
from tfport.frontends.stablehlo.constants import TOTAL_ORDER
from tfport.frontends.stablehlo.nodes import HloNodes, translates, translates_call
from tfport.frontends.stablehlo.ops import xla
from tfport.frontends.stablehlo.ops.elementwise import DIRECTIONS, ordered
from tfport.frontends.stablehlo.ops.reductions import apply
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.building.arrays import reshape, transpose
from tfport.graph.building.sizes import Size
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Value
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class SortKey:
    """The comparison of an operand with itself: the value of the region that is its key."""

    operand: int
    key: int
    descends: bool
    total: bool


@translates("sort")
def sort(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> list[HloTensor]:
    """Sorted by the last key first: each order is stable."""
    axis = int(hlo.attrs["dimension"]) % max(operands[0].rank, 1)
    body = hlo.regions[0]
    try:
        keys = list(sort_keys(body))
    except CannotRun:
        if op.program.own_runtime:
            return xla.sorted_by(op, hlo, operands, env)
        raise
    rank = operands[0].rank
    order = [*(index for index in range(rank) if index != axis), axis]
    back = [order.index(index) for index in range(rank)]
    rows = SortedRows(op, operands[0], order)
    for key in reversed(keys):
        rows.sort_by(rows.of(_key_values(op, body, key, operands[key.operand], env)), descends=key.descends)
    return [op.tensor(transpose(op, rows.sorted(x), back).value, x.dims) for x in operands]


def _key_values(op: HloNodes, body: HloBody, key: SortKey, x: HloTensor, env: dict[int, Any]) -> HloTensor:
    """The key of each element as a signed integer."""
    part = HloBody(body.args, _needed(body, key.key), [key.key], body.types)
    args = [x] * len(body.args)
    (value,) = apply(op, part, args, env)
    if value.dtype.is_floating and not key.total:
        value = op.each("AddV2", value, op.known(np.zeros((), value.dtype.numpy)))  # -0 becomes 0
    return ordered(op, value)


def _needed(body: HloBody, value: int) -> list[HloOp]:
    """The ops that a value needs, in order."""
    wanted, ops = {value}, []
    for hlo in reversed(body.ops):
        if wanted.intersection(hlo.results):
            ops.append(hlo)
            wanted.update(hlo.operands)
    return ops[::-1]


def sort_keys(body: HloBody) -> Iterator[SortKey]:
    """The keys of a comparator: `a < b`, or `a < b or (a == b and …)`; refuses any other."""
    producers = {result: hlo for hlo in body.ops for result in hlo.results}
    hlo = producers.get(body.returns[0])
    while hlo is not None and hlo.name == "or":
        first, second = (producers.get(value) for value in hlo.operands)
        if second is None or second.name != "and":
            first, second = second, first
        if first is None or second is None or second.name != "and":
            break
        yield _key(body, producers, first)
        rest = [producers.get(value) for value in second.operands]
        hlo = next((part for part in rest if part is not None and not _is_equality(part)), None)
    if hlo is None:
        raise CannotRun("the comparator of a stablehlo.sort is not an order by keys")
    yield _key(body, producers, hlo)


def _is_equality(hlo: HloOp) -> bool:
    return hlo.name == "compare" and DIRECTIONS[hlo.attrs["comparison_direction"]] == "Equal"


def _key(body: HloBody, producers: dict[int, HloOp], hlo: HloOp) -> SortKey:
    """A comparison of a pair of arguments, after the same computation on both."""
    direction = DIRECTIONS[hlo.attrs["comparison_direction"]] if hlo.name == "compare" else ""
    sides = [_arguments(body, producers, value) for value in hlo.operands] if direction else []
    if direction not in ("Less", "Greater") or any(len(side) != 1 for side in sides):
        raise CannotRun("the comparator of a stablehlo.sort is not an order by keys")
    left, right = (body.args.index(side.pop()) for side in sides)
    descends = direction == "Greater"
    if right == left - 1 and not right % 2:
        left, right, descends = right, left, not descends
    if left % 2 or right != left + 1:
        raise CannotRun("the comparator of a stablehlo.sort compares different operands")
    key = (
        hlo.operands[0]
        if _arguments(body, producers, hlo.operands[0]) == {body.args[left]}
        else hlo.operands[1]
    )
    return SortKey(left // 2, key, descends, hlo.attrs.get("compare_type") == TOTAL_ORDER)


def _arguments(body: HloBody, producers: dict[int, HloOp], value: int) -> set[int]:
    """The arguments of a region that a value depends on."""
    if value in body.args:
        return {value}
    hlo = producers.get(value)
    return set().union(*(_arguments(body, producers, operand) for operand in hlo.operands)) if hlo else set()


class SortedRows:
    """The order of the elements in each row of the last axis."""

    def __init__(self, op: HloNodes, x: HloTensor, order: Sequence[int]) -> None:
        self.op, self._order = op, order
        sizes = op.dims_of(x)
        self.sizes: list[Size] = [sizes[axis] for axis in order]
        self.length = self.sizes[-1]
        count = op.sizes.product(self.sizes[:-1])
        firsts = op.Mul(op.Range(0, count, 1), self.length)
        self._firsts = op.Reshape(firsts, op.const([-1, 1], INT32))
        self._flat_shape = op.const([-1], INT32)
        self._positions: Value | None = None

    def of(self, x: HloTensor) -> Value:
        """A tensor as (rows, length)."""
        count = self.op.sizes.product(self.sizes[:-1])
        return reshape(self.op, transpose(self.op, x, self._order), [count, self.length]).value

    def sort_by(self, keys: Value, *, descends: bool) -> None:
        """Sort the rows as they are now; equal keys stay in order."""
        op = self.op
        keys = self._taken(keys) if self._positions is not None else keys
        ranked = op.TopKV2(keys if descends else op.Invert(keys), self.length, sorted=True)
        positions = op.AddV2(ranked.output(1), self._firsts).output(0)
        if self._positions is not None:
            positions = op.GatherV2(op.Reshape(self._positions, self._flat_shape), positions, 0).output(0)
        self._positions = positions

    def first(self, x: HloTensor, count: int) -> Value:
        """The first elements of each row of a tensor."""
        assert self._positions is not None
        self._positions = self.op.Slice(
            self._positions, self.op.const([0, 0], INT32), self.op.const([-1, count], INT32)
        ).output(0)
        return self._taken(self.of(x))

    def indices(self) -> Value:
        """The position of each element in its row."""
        assert self._positions is not None
        return self.op.Sub(self._positions, self._firsts).output(0)

    def sorted(self, x: HloTensor) -> HloTensor:
        return reshape(self.op, self._taken(self.of(x)), self.sizes)

    def _taken(self, rows: Value) -> Value:
        return self.op.GatherV2(self.op.Reshape(rows, self._flat_shape), self._positions, 0).output(0)


@translates_call("mhlo.topk")
def top_k(op: HloNodes, hlo: HloOp, x: HloTensor) -> list[HloTensor]:
    """The largest elements of each row and their indices; the first of equal elements."""
    attributes = hlo.attrs["mhlo.attributes"]
    count, dims = int(attributes["k"]), hlo.types[0].shape
    rows = SortedRows(op, x, list(range(x.rank)))
    rows.sort_by(rows.of(ordered(op, x)), descends=bool(attributes.get("largest", True)))
    shape = [*rows.sizes[:-1], count]
    results = rows.first(x, count), rows.indices()
    return [op.tensor(reshape(op, result, shape).value, dims) for result in results]
