"""Does a node fit the definition and the kernels that a registry has of its op? If not, why, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfport.atlas.kernel_text import kernel_text, merged
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.signature import OpSignature
from tfport.graph.usage import LABEL
from tfport.registry.attributes import unresolved_attributes
from tfport.registry.inputs import unresolved_inputs
from tfport.registry.unresolved import Question, Unresolved
from tfport.runtime.custom.kernel import CPU, CustomKernel
from tfport.runtime.lower import Declared


def misfits(definition: OpDef, attrs: Mapping[str, Attr], inputs: Sequence[DType]) -> Iterator[str]:
    """All that is wrong with a node, in words."""
    signature = OpSignature(definition)
    for reason in (*unresolved_attributes(attrs, definition), *unresolved_inputs(inputs, attrs, signature)):
        yield _said(reason)


def _said(reason: Unresolved) -> str:
    found, wanted = reason.actual, reason.expected
    match reason.question:
        case Question.UNKNOWN_ATTR:
            return f"it has no attribute `{reason.attr}`"
        case Question.MISSING_ATTR:
            return f"its attribute `{reason.attr}` is not there, and has no default"
        case Question.ATTR_TYPE:
            return f"its attribute `{reason.attr}` is of type {found}; expected {wanted}"
        case Question.ATTR_MINIMUM:
            return f"its attribute `{reason.attr}` is {found}; expected at least {wanted}"
        case Question.ATTR_VALUE:
            return f"its attribute `{reason.attr}` is {found}; expected {', '.join(map(str, wanted))}"
        case Question.INPUT_TYPE:
            return f"its input {reason.index} is {found}; expected {wanted}"
        case _:
            return f"it is given {found} inputs; expected {len(wanted)}"


def why_missing(declared: Sequence[Declared], attrs: Mapping[str, Attr], why: str) -> str:
    """Why none of the kernels of an op runs a node; `why`: it cannot be lowered."""
    kernels = [one.as_kernel() for one in declared if isinstance(one, CustomKernel)]
    here = [kernel for kernel in kernels if kernel.device == CPU]
    if not kernels:
        return "it is defined without a kernel"
    if not here:
        devices = " and ".join(sorted({kernel.device for kernel in kernels}))
        return f"its kernels are for {devices}, and tfport runs on CPU"
    if any(one.takes(attrs) for one in declared):
        return f"it cannot be lowered, and has no other kernel ({why})"
    for_what = " or ".join(kernel_text(kernel) for kernel in merged(here))
    names = dict.fromkeys(name for kernel in here for name in kernel.constraints)
    found = [f"{name}={attrs.get(name)}" for name in names]
    found += [f"label {attrs[LABEL]}"] if LABEL in attrs else []
    what = ", ".join(found) or "a node without a label"
    return f"none of its kernels takes {what}; they are for {for_what}"
