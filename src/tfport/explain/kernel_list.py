"""Parse a message about a missing kernel: dtypes, devices, and the kernels that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tfport.explain.lookup import MessageMatch
from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.usage import LABEL
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import dataclass

ATTR = re.compile(r"(\w{1,80})=(DT_\w{1,40}|\[(?:DT_\w{1,40}(?:, )?){1,100}\])")
TYPE = re.compile(r"DT_\w{1,40}")
REQUESTED_LABEL = re.compile(r"_kernel=\"([^\"]{0,80})\"")
LISTED = re.compile(r"Registered(?: kernels)?:|All kernels registered for op")
KERNEL = re.compile(r"device='?(\w{1,40})'?((?:; (?:\w{1,80} in \[[^\]]{0,800}\]|label='[^']{0,80}')){0,20})")
CONSTRAINT = re.compile(r"(\w{1,80}) in \[([^\]]{0,800})\]")
KERNEL_LABEL = re.compile(r"label='([^']{0,80})'")
DEVICES = re.compile(r"Registered devices: \[([\w, :/]{0,400})\]")
CUT = ("device=", ";", "'", "…")
"""What follows the last kernel of a truncated list."""
NONE_LISTED = "<no registered kernels>"
LONGEST_NODE = 2000


@dataclass(frozen=True)
class MissingKernel:
    """A kernel that TensorFlow did not find."""

    op: str
    attrs: Mapping[str, Attr]
    """The dtype attributes that the message shows, and the label."""
    devices: tuple[str, ...]
    """The device types that were available."""
    kernels: tuple[Kernel, ...]
    """The kernels of the binary that the message lists for the op."""
    has_no_kernels: bool
    """Whether the message says that the op has no kernels."""

    def attrs_for(self, kernels: Iterable[Kernel]) -> dict[str, Attr]:
        """The attributes, with placeholders for those that kernels constrain and the message omits."""
        names = {name for kernel in kernels for name in kernel.constraints}
        return {**{name: Placeholder(name) for name in names}, **self.attrs}


def read_missing(match: MessageMatch) -> MissingKernel:
    """Parse the message."""
    start = LISTED.search(match.text)
    before, after = (match.text[: start.start()], match.text[start.end() :]) if start else (match.text, "")
    op = match.names["op"]
    listed = _kernels(op, after)
    return MissingKernel(op, _attrs(op, before, after), _devices(match), listed, NONE_LISTED in after[:80])


def _attrs(op: str, before: str, after: str) -> dict[str, Attr]:
    """Parse the attributes: before the list of kernels, or in the node after it."""
    node = re.search(rf"= {re.escape(op)}\[", after)
    shown = before if "=" in before else after[node.end() :][:LONGEST_NODE] if node else ""
    attrs: dict[str, Attr] = {}
    for name, value in ATTR.findall(shown):
        types = [_dtype(dtype) for dtype in TYPE.findall(value)]
        attrs.setdefault(name, types if value.startswith("[") else types[0])
    label = REQUESTED_LABEL.search(shown)
    return {**attrs, LABEL: label[1]} if label else attrs


def _dtype(name: str) -> DType:
    try:
        return DType.parse(name)
    except KeyError:
        return INVALID


def _devices(match: MessageMatch) -> tuple[str, ...]:
    if named := match.names.get("device"):
        return (named.upper(),)
    devices = DEVICES.search(match.text)
    return tuple(devices[1].replace(" ", "").split(",")) if devices and devices[1] else ("CPU",)


def _kernels(op: str, text: str) -> tuple[Kernel, ...]:
    """Parse the listed kernels; none if the list is truncated, as in logs with a line limit."""
    kernels = list(KERNEL.finditer(text))
    rest = text[kernels[-1].end() :].strip() if kernels else ""
    if rest and (rest.startswith(CUT) or CUT[0].startswith(rest)):
        return ()
    return tuple(_kernel(op, match[1], match[2]) for match in kernels)


def _kernel(op: str, device: str, rest: str) -> Kernel:
    constraints = {
        name: tuple(map(_dtype, TYPE.findall(values))) for name, values in CONSTRAINT.findall(rest)
    }
    label = KERNEL_LABEL.search(rest)
    return Kernel(op, device, constraints, label=label[1] if label else "")
