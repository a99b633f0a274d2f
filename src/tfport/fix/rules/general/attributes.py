"""Drop attributes that the target's definition of an op does not have, and replace deprecated ops.

The newest definition's default of an attribute means what the op did before it had the attribute:
TensorFlow adds attributes that way. Hints (`check.attribute_hints`) never change the outputs. Rules of
the op's family handle attributes that do.
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.check.attribute_hints import is_hint
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import ANY, EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.graph.graph import Node
from tfport.registry.unresolved import Question

SUCCESSORS = {
    "BatchCholesky": "Cholesky",
    "BatchCholeskyGrad": "CholeskyGrad",
    "BatchMatrixBandPart": "MatrixBandPart",
    "BatchMatrixDeterminant": "MatrixDeterminant",
    "BatchMatrixDiag": "MatrixDiag",
    "BatchMatrixDiagPart": "MatrixDiagPart",
    "BatchMatrixInverse": "MatrixInverse",
    "BatchMatrixSetDiag": "MatrixSetDiag",
    "BatchMatrixSolve": "MatrixSolve",
    "BatchMatrixSolveLs": "MatrixSolveLs",
    "BatchMatrixTriangularSolve": "MatrixTriangularSolve",
    "BatchSelfAdjointEigV2": "SelfAdjointEigV2",
    "BatchSvd": "Svd",
    "BatchFFT": "FFT",
    "BatchFFT2D": "FFT2D",
    "BatchFFT3D": "FFT3D",
    "BatchIFFT": "IFFT",
    "BatchIFFT2D": "IFFT2D",
    "BatchIFFT3D": "IFFT3D",
    "PlaceholderV2": "Placeholder",
}


@rule(ANY, keeps=EXACT)
def without_attributes_that_change_nothing(op: RuleBuilder, n: Node) -> Replacement:
    """Attributes that the target's op lacks are dropped, because their values change nothing."""
    return _without(op, n, lambda name: _changes_nothing(op, n, name))


@rule("Equal NotEqual", keeps=LOSSY)
def failing_where_shapes_do_not_fit(op: RuleBuilder, n: Node) -> Replacement:
    """Without incompatible_shape_error=false, incompatible shapes are an error instead of unequal."""
    return _without(op, n, lambda name: name == "incompatible_shape_error" or _changes_nothing(op, n, name))


def _without(op: RuleBuilder, n: Node, is_droppable: Callable[[str], bool]) -> Replacement:
    problems = op.checker.unresolved(n)
    if other := next((p for p in problems if p.question is not Question.UNKNOWN_ATTR), None):
        is_one = any(problem.question is Question.UNKNOWN_ATTR for problem in problems)
        why = f"its attributes are not the only problem ({other.question.value})"
        return refuse(why) if is_one else OtherProblem(why)
    unknown = {problem.attr for problem in problems}
    if kept := sorted(name for name in unknown if not is_droppable(name)):
        return refuse(f"{kept[0]}={n.attrs[kept[0]]} changes the outputs")
    if missing := _missing(n):
        return refuse(f"it has no attribute {missing}")
    node = op.node(n.op, *n.inputs, **{k: v for k, v in n.attrs.items() if k not in unknown})
    node.attrs.update({k: v for k, v in n.attrs.items() if k.startswith("_")})  # the op is the same
    return node


def _missing(n: Node) -> str | None:
    """An attribute that says how many inputs there are, and that the node does not have.

    Files of TensorFlow.js omit such attributes.
    """
    if n.signature is None:
        return None
    attrs = {**n.signature.defaults, **n.attrs}
    counts = (arg.list_attr or arg.number_attr for arg in n.signature.inputs if arg.is_list)
    return next((name for name in counts if name not in attrs), None)


def _changes_nothing(op: RuleBuilder, n: Node, name: str) -> bool:
    """Whether an attribute changes nothing: it has its default value, or is a hint."""
    defaults = n.signature.defaults if n.signature else {}
    if name in defaults and n.attrs[name] == defaults[name]:
        return True
    return is_hint(n, name, op.shape)


@rule(" ".join(SUCCESSORS), keeps=EXACT)
def under_its_later_name(op: RuleBuilder, n: Node) -> Replacement:
    """The op that replaced it does the same."""
    return op.node(SUCCESSORS[n.op], *n.inputs, **n.attrs)
