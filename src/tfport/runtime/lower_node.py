"""Lower one node to ONNX nodes that the engine has kernels for, or say why that is not possible.

Each lowering of the op is tried in order. Where the engine has no kernel for a 16-bit float, the node
is tried again in float32, between casts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfport.errors import CannotRun
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.graph import Node
from tfport.graph.op_signature import OpSignature
from tfport.runtime.engines.engine import Engine
from tfport.runtime.host import Group, kernel_arguments
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import CannotLower, Implementation
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import NeverLowered, OnnxNode
from tfport.startup.dataclass import dataclass

_WIDER = {"bfloat16": FLOAT32, "float16": FLOAT32}


@dataclass(slots=True)
class LoweredNode:
    """The ONNX nodes that compute a node, and the operands that are its outputs."""

    nodes: list[OnnxNode]
    outputs: list[Operand]


@dataclass(slots=True)
class NodeLowering:
    """Lowers one node; `types` are those of its outputs."""

    node: Node
    groups: Sequence[Group]
    attrs: dict[str, Attr]
    signature: OpSignature
    types: Sequence[DType]

    def try_all(self, implementations: OpImplementations, engine: Engine) -> LoweredNode | str:
        """The first lowering that works, or why none does; CannotRun where a custom op's lowering fails."""
        op = self.node.op
        lowerings = implementations.lowerings_for(op, self.attrs)
        if not lowerings:
            if implementations.lowerings_of(op):
                return "no lowering for these types"
            is_custom = implementations.definition_of(op) is not None
            return NeverLowered.NO_LOWERING if is_custom else NeverLowered.NO_ONNX_OP
        why = ""
        has_narrow_type = any(isinstance(v, DType) and v.name in _WIDER for v in self.attrs.values())
        for lowering in lowerings:
            for widen in (False, True) if has_narrow_type else (False,):
                try:
                    return self._lower(lowering, engine, widen)
                except CannotLower as reason:
                    why = str(reason)
                except Exception as error:
                    if not lowering.strict:
                        raise
                    raise CannotRun(f"its lowering fails: {type(error).__name__}: {error}") from error
        return why

    def _lower(self, lowering: Implementation, engine: Engine, widen: bool) -> LoweredNode:
        b = Builder(self.node.name)
        attrs = kernel_arguments(lowering, self.node, self.attrs, self.signature)
        groups = self.groups
        if widen:
            attrs = {k: _WIDER.get(v.name, v) if isinstance(v, DType) else v for k, v in attrs.items()}
            groups = [[_widened(b, o) for o in g] if isinstance(g, list) else _widened(b, g) for g in groups]
        outputs = list(_flat(lowering.function(b, *groups, **attrs)))
        self._check_count(outputs)
        if widen:
            outputs = [b.cast(o, t) for o, t in zip(outputs, self.types, strict=True)]
        self._check_types(outputs)
        for onnx_node in b.added:
            if not engine.takes(onnx_node):
                kinds = ", ".join(o.dtype.name for o in onnx_node.inputs if o is not None)
                raise CannotLower(f"{engine.name} has no {onnx_node.op} for {kinds}")
        return LoweredNode(b.added, outputs)

    def _check_count(self, outputs: Sequence[Operand]) -> None:
        if len(outputs) != len(self.types):
            raise ValueError(
                f"the lowering of {self.node.op} returns {len(outputs)} outputs; expected {len(self.types)}"
            )

    def _check_types(self, outputs: Sequence[Operand]) -> None:
        for output, dtype in zip(outputs, self.types, strict=True):
            if output.dtype != dtype.base:
                raise ValueError(f"the lowering of {self.node.op} returns {output.dtype}; expected {dtype}")


def _widened(b: Builder, operand: Operand) -> Operand:
    wider = _WIDER.get(operand.dtype.name)
    return b.cast(operand, wider) if wider else operand


def _flat(result: Any) -> Iterable[Operand]:
    if isinstance(result, Operand):
        yield result
    elif result is not None:
        for part in result:
            yield from _flat(part)
