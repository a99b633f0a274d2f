"""Replace XlaCallModule nodes that the target does not run by calls of functions with the same program."""

from __future__ import annotations

from functools import partial

from tfport.check.xla_modules import XLA_PROGRAM
from tfport.errors import CannotRun, Error
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import target_attrs
from tfport.fix.rule import ROUNDING
from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.reach import every_node
from tfport.registry.unresolved import Question

SAYS = "The program of an XlaCallModule is written out as TensorFlow ops."


def expand_modules(model: Model, checker: NodeChecker, journal: Journal) -> list[str]:
    """Replace the modules that the target does not run; returns why some remain."""
    reasons: dict[str, None] = {}
    for node in [node for node in every_node(model.graph) if node.op == XLA_PROGRAM]:
        if not _is_unsupported(node, checker):
            continue
        try:
            replace_module(node, checker)
        except Error as error:
            reasons[f"the program of `{node.name}` cannot be written as TensorFlow ops: {error}"] = None
        else:
            journal.changed("program as ops", SAYS, [(node.name, XLA_PROGRAM)], ROUNDING)
    return list(reasons)


def _is_unsupported(node: Node, checker: NodeChecker) -> bool:
    """Whether the target does not run a node; unknown attributes are left to rules."""
    return any(reason.question is not Question.UNKNOWN_ATTR for reason in checker.unresolved(node))


def replace_module(node: Node, checker: NodeChecker) -> None:
    """Turn a node into a call of a function with its program."""
    from tfport.frontends.stablehlo.call_module import CalledModule  # few models need it
    from tfport.runtime.ops.xla.kernels.random import random_bits

    module = CalledModule(
        node.graph, node.name, node.attrs, all_attrs=partial(target_attrs, checker), draw=random_bits
    )
    if names := module.program.unsupported():
        raise CannotRun(f"there is no translation of {', '.join(names)}")
    function = module.function([(value.dtype.base, value.shape.dims) for value in node.inputs])
    types = [value.dtype.base for value in node.inputs]
    outputs = node.attrs["Tout"]
    op = "StatefulPartitionedCall" if function.definition.is_stateful else "PartitionedCall"
    kept = {name: value for name, value in node.attrs.items() if name == "_output_shapes"}
    node.become(op, {"Tin": types, "Tout": outputs, "f": FunctionRef(function.name), **kept})
