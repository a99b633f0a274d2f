"""Elements chosen by conditions."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


@builtin("WHERE", any_type=True)
def where(b: OperatorBuilder, condition: LiteValue) -> Node:
    return b.Where(condition)


@builtin("SELECT", any_type=True)
def select(b: OperatorBuilder, condition: LiteValue, x: LiteValue, y: LiteValue) -> Node:
    return b.Select(condition, x, y)


@builtin("SELECT_V2", any_type=True)
def select_v2(b: OperatorBuilder, condition: LiteValue, x: LiteValue, y: LiteValue) -> Node:
    return b.SelectV2(condition, x, y)


@builtin("LOGICAL_AND")
def logical_and(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.LogicalAnd(x, y)


@builtin("LOGICAL_OR")
def logical_or(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.LogicalOr(x, y)


@builtin("LOGICAL_NOT")
def logical_not(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.LogicalNot(x)
