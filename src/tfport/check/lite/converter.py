"""Will a TensorFlow model convert to TensorFlow Lite? Asked of the record of real converters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.atlas.lite.converter import Converted, converted
from tfport.atlas.lite.releases import FLEX, flex_allow_list
from tfport.atlas.target import CONVERTER_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.lite_files import (
    ConversionFinding,
    ConversionUnknown,
    ConvertsToFlex,
    NotConvertible,
)
from tfport.check.other_format import OtherFormat
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.tensors import Tensor

DEPENDS = "other nodes of this op became builtin ops in real conversions, and others not"
NEVER_TRIED = "no real conversion of this op is recorded"
TRAINING = "is_training"
"""The attribute of batch normalization that decides together with the types."""
Key = tuple[str, str, tuple[str, str] | None, bool]
"""An op, its types, what is wrong with it as a list, and whether it is part of GELU."""
FUSES_GELU, HAS_GELU = "2.21.0", "2.9"
"""The first release that is known to make GELU of its parts, and the first that has the op."""


def converts(model: CheckedModel, target: Target) -> bool:
    """Whether the question is about conversion; an error if the model has nothing to convert."""
    if target.kind != CONVERTER_KIND:
        return False
    if model.model.lite is not None:
        already = f"{model.model.where} is a TensorFlow Lite file already"
        raise OtherFormat(already, "name an interpreter", CONVERTER_KIND)
    model.model.require_graph()
    return True


def conversion_findings(model: CheckedModel, target: Target) -> Iterator[ConversionFinding]:
    """What the converter does not turn into builtin ops, one finding for each op with its types."""
    groups: dict[Key, list[Node]] = defaultdict(list)
    for node in model.needed_nodes():
        groups[node.op, _types(node), list_problem(node), is_part_of_gelu(node)].append(node)
    for (op, kinds, problem, of_gelu), nodes in sorted(groups.items(), key=str):
        types = dict(part.split("=") for part in kinds.split())
        outcome = converted(target.converter, op, types, _defaults(nodes[0]))
        if of_gelu:
            outcome = _as_gelu(target.converter, outcome)
        finding = _finding(op, outcome, target) if problem is None else _list_finding(op, *problem, target)
        if finding is not None:
            finding.nodes, finding.kinds = nodes, kinds
            finding.signatures = sorted(model.signatures)
            yield finding


def _as_gelu(release: str, outcome: Converted) -> Converted:
    """What becomes of a part of GELU."""
    if version_key(release) >= version_key(FUSES_GELU):
        return Converted.BUILTIN
    return Converted.DEPENDS if version_key(release) >= version_key(HAS_GELU) else outcome


def _list_finding(op: str, why: str, says: str, target: Target) -> ConversionFinding | None:
    """A list that stays one: its ops are on the list of Flex ops."""
    return None if target.delegate == FLEX else ConvertsToFlex(op=op, why=why, says_text=says)


def _finding(op: str, outcome: Converted, target: Target) -> ConversionFinding | None:
    if outcome is Converted.BUILTIN:
        return None
    allowed = flex_allow_list(target.converter) or frozenset()
    if op in allowed and target.delegate == FLEX:
        return None
    if outcome in (Converted.DEPENDS, Converted.UNKNOWN):
        why = DEPENDS if outcome is Converted.DEPENDS else NEVER_TRIED
        return ConversionUnknown(op=op, why=why, doubt=why)
    return ConvertsToFlex(op=op) if op in allowed else NotConvertible(op=op)


def _defaults(node: Node) -> dict[str, str]:
    """The types that an op has if the node does not say others."""
    if node.signature is None:
        return {}
    defaults = node.signature.with_defaults({})
    return {name: value.name for name, value in defaults.items() if isinstance(value, DType)}


def _types(node: Node) -> str:
    names = node.signature.attr_types if node.signature is not None else {}
    attrs = node.signature.with_defaults(node.attrs) if node.signature is not None else node.attrs
    types = [(k, v.name) for k, v in attrs.items() if isinstance(v, DType) and k in names]
    if TRAINING in names:
        types.append((TRAINING, str(attrs.get(TRAINING)).lower()))
    return " ".join(f"{name}={text}" for name, text in sorted(types))


# Nodes whose conversion depends on the nodes around them: lists, and parts of GELU.

NO_SHAPE = "a size of its elements is not known; with a fixed batch size it often is"
NO_SHAPE_TEXT = (
    "'tf.TensorListReserve' op requires element_shape to be static during TF Lite transformation pass"
)
GROWS = "its list grows while it is filled"
GROWS_TEXT = "error: Lowering tensor list ops is failed."
HALF_ROOT, ROOT = np.sqrt(0.5), np.sqrt(2.0)
TOLERANCE = 1e-3


def list_problem(node: Node) -> tuple[str, str] | None:
    """Why a list does not become builtin ops, and what the converter says; None if it does."""
    if node.op == "TensorListReserve":
        sizes = _constant(node.inputs[0])
        if sizes is not None and sizes.ndim == 1 and (sizes < 0).any():
            return NO_SHAPE, NO_SHAPE_TEXT
    if node.op == "TensorListSetItem" and node.attrs.get("resize_if_index_out_of_bounds"):
        return GROWS, GROWS_TEXT
    return None


def is_part_of_gelu(node: Node) -> bool:
    """Whether a converter that knows GELU sees it: `x * (1 + erf(x / sqrt(2)))`, or the same with erfc."""
    if node.op not in ("Erf", "Erfc") or not _is_scaled(node.inputs[0].node):
        return False
    users = list(node.output(0).uses)
    if node.op == "Erf":
        sums = [user for user in users if user.op in ("Add", "AddV2") and _has(user, 1.0)]
        users = [after for user in sums for after in user.output(0).uses]
    return bool(users) and all(user.op == "Mul" for user in users)


def _is_scaled(node: Node) -> bool:
    """Whether a node divides by the square root of 2."""
    if node.op in ("Div", "RealDiv"):
        divisor = _constant(node.inputs[1])
        return divisor is not None and _near(divisor, ROOT)
    return node.op == "Mul" and (_has(node, HALF_ROOT) or _has(node, -HALF_ROOT))


def _has(node: Node, number: float) -> bool:
    arrays = (_constant(value) for value in node.inputs)
    return any(array is not None and _near(array, number) for array in arrays)


def _near(array: Any, number: float) -> bool:
    return bool(array.size == 1 and abs(float(array.reshape(-1)[0]) - number) < TOLERANCE)


def _constant(value: Value) -> Any:
    """The elements of a constant of numbers; None for anything else."""
    stored = value.node.attrs.get("value") if value.node.op == "Const" else None
    array = stored.numpy() if isinstance(stored, Tensor) else None
    return array if array is not None and array.dtype.kind in "fiu" else None
