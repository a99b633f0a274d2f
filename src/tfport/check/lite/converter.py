"""Will a TensorFlow model convert to TensorFlow Lite? Asked of the record of real converters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tfport.atlas.lite.converter import Converted, converted
from tfport.atlas.lite.registry import FLEX
from tfport.atlas.lite.releases import flex_allow_list
from tfport.atlas.target import CONVERTER_KIND, Target
from tfport.atlas.versions import version_key
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.lite_converter import (
    ConversionFinding,
    ConversionUnknown,
    ConvertsToFlex,
    NotConvertible,
)
from tfport.check.lite.conversion_patterns import is_part_of_gelu, list_problem
from tfport.check.other_format import OtherFormat
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.reach import called_by, needed_by

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
    for node in _nodes(model):
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


def _nodes(model: CheckedModel) -> list[Node]:
    """The nodes that the requested signatures need, with those of the functions that they call."""
    signatures = [s for name, s in model.model.signatures.items() if name in model.signatures]
    if model.outputs is not None:
        signatures.append(model.outputs.signature)
    ends = [value.node for signature in signatures for value in model.model.ends_of(signature)]
    fed = [value for signature in signatures for value in model.model.starts_of(signature)]
    needed = needed_by(ends, fed)
    functions = called_by(needed)
    inside = [node for function in functions.values() for node in function]
    return [node for node in (*needed, *inside) if node.op not in functions]


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
