"""What a message about a missing kernel says: types, devices, and the kernels that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tfport.check.explain.lookup import MessageMatch
from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.usage import LABEL
from tfport.registry.kernels import Kernel

ATTR = re.compile(r"(\w{1,80})=(DT_\w{1,40}|\[(?:DT_\w{1,40}(?:, )?){1,100}\])")
TYPE = re.compile(r"DT_\w{1,40}")
ASKED_LABEL = re.compile(r"_kernel=\"([^\"]{0,80})\"")
LISTED = re.compile(r"Registered(?: kernels)?:|All kernels registered for op")
KERNEL = re.compile(r"device='?(\w{1,40})'?((?:; (?:\w{1,80} in \[[^\]]{0,800}\]|label='[^']{0,80}')){0,20})")
CONSTRAINT = re.compile(r"(\w{1,80}) in \[([^\]]{0,800})\]")
KERNEL_LABEL = re.compile(r"label='([^']{0,80})'")
DEVICES = re.compile(r"Registered devices: \[([\w, :/]{0,400})\]")
CUT = ("device=", ";", "'", "…")
"""What follows the last kernel of a list that is not whole."""
NONE_LISTED = "<no registered kernels>"
LONGEST_NODE = 2000


@dataclass(frozen=True)
class MissingKernel:
    """A kernel that was looked for and not found."""

    op: str
    attrs: Mapping[str, Attr]
    """The types among the attributes of the node, as far as they are shown, and the label."""
    devices: tuple[str, ...]
    """The kinds of devices that were there."""
    kernels: tuple[Kernel, ...]
    """Those that the binary has for the op, as far as they are listed."""
    none_at_all: bool
    """Whether the message says that there are none."""

    def open_for(self, kernels: Iterable[Kernel]) -> dict[str, Attr]:
        """The attributes, with those that kernels ask about and the message does not show left open."""
        names = {name for kernel in kernels for name in kernel.constraints}
        return {**{name: Placeholder(name) for name in names}, **self.attrs}


def read_missing(said: MessageMatch) -> MissingKernel:
    start = LISTED.search(said.text)
    before, after = (said.text[: start.start()], said.text[start.end() :]) if start else (said.text, "")
    op = said.names["op"]
    listed = _kernels(op, after)
    return MissingKernel(op, _attrs(op, before, after), _devices(said), listed, NONE_LISTED in after[:80])


def _attrs(op: str, before: str, after: str) -> dict[str, Attr]:
    """Messages show the attributes before the kernels, or the whole node after them."""
    node = re.search(rf"= {re.escape(op)}\[", after)
    shown = before if "=" in before else after[node.end() :][:LONGEST_NODE] if node else ""
    found: dict[str, Attr] = {}
    for name, value in ATTR.findall(shown):
        types = [_dtype(one) for one in TYPE.findall(value)]
        found.setdefault(name, types if value.startswith("[") else types[0])
    label = ASKED_LABEL.search(shown)
    return {**found, LABEL: label[1]} if label else found


def _dtype(name: str) -> DType:
    try:
        return DType.parse(name)
    except KeyError:
        return INVALID


def _devices(said: MessageMatch) -> tuple[str, ...]:
    if named := said.names.get("device"):
        return (named.upper(),)
    found = DEVICES.search(said.text)
    return tuple(found[1].replace(" ", "").split(",")) if found and found[1] else ("CPU",)


def _kernels(op: str, text: str) -> tuple[Kernel, ...]:
    """All of them, or none where the list is cut off, as in logs whose lines have a limit."""
    found = list(KERNEL.finditer(text))
    rest = text[found[-1].end() :].strip() if found else ""
    if rest and (rest.startswith(CUT) or CUT[0].startswith(rest)):
        return ()
    return tuple(_kernel(op, match[1], match[2]) for match in found)


def _kernel(op: str, device: str, rest: str) -> Kernel:
    constraints = {
        name: tuple(map(_dtype, TYPE.findall(values))) for name, values in CONSTRAINT.findall(rest)
    }
    label = KERNEL_LABEL.search(rest)
    return Kernel(op, device, constraints, label=label[1] if label else "")
