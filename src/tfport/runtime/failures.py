"""Turn what kernels and lowerings raise into errors that name the node and the cause.

A value or attribute that a kernel cannot handle is an error in the model: RunFailed, or
MalformedGraph while planning. A TypeError or AttributeError is a bug in tfport (InternalError),
unless the node contradicts the definition of its op or passes a resource of the wrong kind.
Kernels of custom ops are called by `custom.checked_call`, which attributes all errors to the kernel.
Nodes that the runtime cannot run are collected while planning and reported together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from tfport.atlas.known_ops import known_ops
from tfport.discovery import STALE
from tfport.errors import (
    CannotRun,
    Error,
    InternalError,
    MalformedGraph,
    ResourceExhausted,
    RunFailed,
    UnreadableFile,
)
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.inline import NO_SEGMENT
from tfport.graph.op_facts.kinds import TENSORRT_ENGINE
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.implementations import OpImplementations
from tfport.runtime.lower import KERNELS, LOWERINGS, STRUCTURES
from tfport.runtime.program import Run
from tfport.startup.dataclass import dataclass

BUGS = (TypeError, AttributeError)
VALUES = (ValueError, LookupError, ArithmeticError, MemoryError, RecursionError)
"""What NumPy and Python raise for values that a kernel cannot handle."""
FAILURES = (RunFailed, UnreadableFile, *VALUES, *BUGS)
"""What a step may raise where its node is to be named."""
PLANNING = (ValueError, LookupError, ArithmeticError, *BUGS)


def naming_node(run: Run, name: str, op: str, attrs: Mapping[str, Attr] | None = None) -> Run:
    """The same function, whose errors name the node; `attrs`: the attributes that the kernel takes."""

    def named(inputs: Sequence[Any]) -> Sequence[Any]:
        try:
            return run(inputs)
        except FAILURES as error:
            raise_named(error, name, op, attrs or {}, inputs)

    return named


def raise_named(
    error: Exception, name: str, op: str, attrs: Mapping[str, Attr], inputs: Sequence[Any]
) -> NoReturn:
    """Raise the error of a run that names the node."""
    if isinstance(error, ResourceExhausted) and not str(error).startswith("`"):
        raise ResourceExhausted(f"`{name}`: {error}") from None
    if isinstance(error, EngineFailed | ResourceExhausted):
        raise error  # the session repeats the run on the host, which names the node
    if isinstance(error, RunFailed | UnreadableFile):
        raise RunFailed(f"`{name}` ({op}): {error}") from None
    raise _run_error(error, name, op, attrs, inputs) from error


def planning_error(
    error: Exception,
    name: str,
    op: str,
    definition: OpDef | None,
    attrs: Mapping[str, Attr],
    inputs: Sequence[DType],
) -> Error:
    """The error to raise where planning a node failed with something other than an `Error`."""
    from tfport.runtime.mismatch import mismatches  # here, as most runs do not fail

    definition = definition or known_ops().get(op)
    wrong = list(mismatches(definition, attrs, inputs)) if definition is not None else []
    if wrong:
        return MalformedGraph(f"`{name}` does not match the definition of op {op}: {'; '.join(wrong)}")
    if isinstance(error, BUGS):
        return _internal(error, name, op, "planning")
    return MalformedGraph(f"`{name}` ({op}) cannot be planned: {_text(error)}")


def _run_error(
    error: Exception, name: str, op: str, attrs: Mapping[str, Attr], inputs: Sequence[Any]
) -> Error:
    from tfport.runtime.mismatch import wrong_values

    definition = known_ops().get(op)
    wrong = wrong_values(definition, attrs) if definition is not None else []
    if wrong:
        return RunFailed(f"`{name}` ({op}): {'; '.join(wrong)}")
    if isinstance(error, AttributeError) and any(error.obj is resource for resource in _resources(inputs)):
        kind = type(error.obj).__name__
        return RunFailed(f"`{name}` ({op}): it cannot use a resource of the kind {kind}")
    if isinstance(error, BUGS):
        return _internal(error, name, op, "running")
    if isinstance(error, MemoryError):
        return ResourceExhausted(f"`{name}` ({op}): not enough memory: {_text(error)}")
    return RunFailed(f"`{name}` ({op}): {_text(error)}")


def _resources(inputs: Sequence[Any]) -> list[Any]:
    """The resources among the values: neither tensors nor the None of a kernel that returned nothing."""
    return [value for value in inputs if value is not None and not isinstance(value, np.ndarray | np.generic)]


def _internal(error: Exception, name: str, op: str, what: str) -> InternalError:
    return InternalError(
        f"`{name}` ({op}): internal error of tfport while {what} this node, please report it: "
        f"{type(error).__name__}: {error}"
    )


def _text(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no entry {error}"
    return str(error) or type(error).__name__


# Nodes that the runtime cannot run

MAX_LISTED = 20
CUSTOM_OP_FIX = (
    "define it with `tfport.op` in a file (`--ops FILE.py`), load its library (`--library FILE.so`, built by "
    "`tfport lib build`), or replace it with `tfport.stub`"
)


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """A node for which there is no kernel, lowering or structure."""

    node: Node
    why: str

    def __str__(self) -> str:
        graph = self.node.graph
        inside = f" in function `{graph.name}`" if isinstance(graph, Function) else ""
        return f"`{self.node.name}` ({self.node.op}){inside}: {self.why}"


def raise_unsupported(nodes: Sequence[UnsupportedNode], where: str) -> None:
    """Raise CannotRun if there are any, and list them all in one message."""
    if nodes:
        messages = list(dict.fromkeys(map(str, nodes)))
        more = f"; and {len(messages) - MAX_LISTED} more" if len(messages) > MAX_LISTED else ""
        count = "1 node" if len(messages) == 1 else f"{len(messages)} nodes"
        error = CannotRun(f"{where}: {count} cannot run here: {'; '.join(messages[:MAX_LISTED])}{more}")
        error.ops = tuple(sorted({unsupported.node.op for unsupported in nodes}))
        raise error


def unknown_op(op: str) -> str:
    """Why a node whose op has no definition is unsupported."""
    return f"tfport has no kernel for the custom op `{op}`; {CUSTOM_OP_FIX}"


def missing_kernel(
    implementations: OpImplementations, op: str, attrs: Mapping[str, Attr], why_not_lowered: str
) -> str:
    """Why a node without a kernel for its attributes is unsupported."""
    reason = implementations.why_missing(op, attrs, why_not_lowered)
    if reason is not None:
        return reason
    if not implementations.kernels_of(op) and not implementations.lowerings_of(op):
        if any(catalog.lacks(op) for catalog in (KERNELS, LOWERINGS, STRUCTURES)):
            return f"the index lacks this op, which a module of tfport declares; {STALE}"
        return NO_SEGMENT if op == TENSORRT_ENGINE else "tfport has no kernel for this op"
    types = ", ".join(f"{name}={value}" for name, value in sorted(attrs.items()) if isinstance(value, DType))
    return f"tfport has no kernel for {types or 'these attributes'} ({why_not_lowered})"
