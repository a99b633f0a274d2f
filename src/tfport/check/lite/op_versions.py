"""Which version of a builtin op a node needs, and which of its features asks for it.

The facts are in `op_versions.txt`: those of TensorFlow Lite's converter, which writes the largest version
that a node of the op needs. `needed_version` evaluates them for a node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tfport.formats.lite.records import NO_TENSOR, LiteOperator, LiteTensor, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.startup.dataclass import dataclass

FLOAT8 = "FLOAT8"
"""Stands for every type of eight bits with an exponent."""
ATOM = re.compile(r"(?P<name>[a-z_]+)(?P<index>\d*)[:=>]?(?P<value>.*)")


class VersionRow(NamedTuple):
    """A version, and the features of a node that need it: all of them together."""

    version: int
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeededVersion:
    """The version of an op that a node needs, and why."""

    version: int
    feature: str
    """The features of the node that ask for it: `input 1 is INT8`; empty for version 1."""


def needed_version(node: LiteOperator, subgraph: Subgraph) -> NeededVersion:
    """The version of its op that a node needs."""
    seen = _Node(node, subgraph)
    for row in _rows().get(node.code.op, ()):
        if all(seen.has(feature) for feature in row.features):
            return NeededVersion(row.version, ", ".join(filter(None, map(_words, row.features))))
    return NeededVersion(1, "")


def features_of(op: str, version: int) -> list[str]:
    """The features of nodes that need a version of an op, in words; each entry alone asks for it."""
    rows = (row for row in _rows().get(op, ()) if row.version == version)
    return [words for row in rows if (words := ", ".join(filter(None, map(_words, row.features))))]


class _Node:
    """A node with its tensors, and the features that rows ask for."""

    def __init__(self, node: LiteOperator, subgraph: Subgraph) -> None:
        self.node = node
        self.inputs = [_tensor(subgraph, index) for index in node.inputs]
        self.outputs = [_tensor(subgraph, index) for index in node.outputs]

    def has(self, feature: str) -> bool:
        match = _parsed(feature)
        test = getattr(self, f"_{match['name']}")
        answer: bool = test(match["index"], match["value"])
        return answer

    def _in(self, index: str, types: str) -> bool:
        return _is_type(_at(self.inputs, int(index)), types)

    def _out(self, index: str, types: str) -> bool:
        return _is_type(_at(self.outputs, int(index)), types)

    def _rank(self, index: str, value: str) -> bool:
        tensor = _at(self.inputs, int(index))
        return tensor is not None and len(tensor.shape) > int(value)

    def _otherrank(self, index: str, value: str) -> bool:
        tensor = _at(self.inputs, int(index))
        return tensor is not None and len(tensor.shape) != int(value)

    def _anyrank(self, index: str, value: str) -> bool:
        return any(tensor is not None and len(tensor.shape) == int(value) for tensor in self.inputs)

    def _broadcast(self, index: str, value: str) -> bool:
        shapes = [tensor.shape for tensor in self.inputs if tensor is not None]
        return len(shapes) > 1 and shapes[0] != shapes[1] and max(map(len, shapes)) > int(value)

    def _inputs(self, index: str, value: str) -> bool:
        return len(self.inputs) == int(value)

    def _has(self, index: str, value: str) -> bool:
        return len(self.inputs) == int(index) + 1 and self.inputs[-1] is not None

    def _option(self, index: str, name: str) -> bool:
        default = _option_default(self.node.options_type, name)
        return self.node.options.get(name, default) not in (default, None, False, 0, ())

    def _unset(self, index: str, name: str) -> bool:
        default = _option_default(self.node.options_type, name)
        return not self.node.options.get(name, default)

    def _channels(self, index: str, axis: str) -> bool:
        """Whether an input is quantized per channel, along an axis if one is named."""
        return _is_per_channel(_at(self.inputs, int(index or 0)), axis)

    def _output_channels(self, index: str, axis: str) -> bool:
        return _is_per_channel(_at(self.outputs, int(index)), axis)

    def _grouped(self, index: str, value: str) -> bool:
        image, weights = _at(self.inputs, 0), _at(self.inputs, 1)
        if image is None or weights is None or min(len(image.shape), len(weights.shape)) < 4:
            return False
        return image.shape[3] != weights.shape[3]

    def _dilated(self, index: str, value: str) -> bool:
        return any(self.node.options.get(name, 1) != 1 for name in ("dilation_w_factor", "dilation_h_factor"))

    def _sparse(self, index: str, value: str) -> bool:
        tensor = _at(self.inputs, int(index))
        return tensor is not None and tensor.sparsity is not None

    def _plain(self, index: str, value: str) -> bool:
        return all(tensor is None or tensor.quantization is None for tensor in self.inputs)

    def _rescaled(self, index: str, value: str) -> bool:
        tensors = [_at(self.inputs, 0), _at(self.inputs, 1), _at(self.outputs, 0)]
        scales = [t.quantization.scale[0] for t in tensors if t and t.quantization and t.quantization.scale]
        return len(scales) == len(tensors) and all(scales) and scales[0] * scales[1] / scales[2] >= 1

    def _full_kernel(self, index: str, value: str) -> bool:
        return not self._option("", "kernel_type")

    def _always(self, index: str, value: str) -> bool:
        return True


WORDS = {
    "in": "input {index} is {value}",
    "out": "output {index} is {value}",
    "rank": "input {index} has more than {value} dimensions",
    "otherrank": "input {index} does not have {value} dimensions",
    "anyrank": "an input has {value} dimensions",
    "broadcast": "inputs of more than {value} dimensions are broadcast",
    "inputs": "there are only {value} inputs",
    "has": "there is an input {index}",
    "option": "{value} is set",
    "unset": "{value} is not set",
    "channels": "input {index} is quantized per channel",
    "output_channels": "output {index} is quantized per channel",
    "grouped": "the convolution has groups",
    "dilated": "the convolution is dilated",
    "sparse": "input {index} is sparse",
    "plain": "it is not quantized",
    "rescaled": "the product of the input scales is not smaller than the output scale",
    "full_kernel": "",
    "always": "",
}


def _words(feature: str) -> str:
    """A feature in words."""
    match = _parsed(feature)
    return WORDS[match["name"]].format(index=match["index"], value=match["value"].replace("|", " or "))


def _tensor(subgraph: Subgraph, index: int) -> LiteTensor | None:
    return subgraph.tensors[index] if index != NO_TENSOR else None


def _at(tensors: Sequence[LiteTensor | None], index: int) -> LiteTensor | None:
    return tensors[index] if index < len(tensors) else None


def _is_type(tensor: LiteTensor | None, types: str) -> bool:
    if tensor is None:
        return False
    return tensor.type in types.split("|") or (types == FLOAT8 and tensor.type.startswith(FLOAT8))


def _is_per_channel(tensor: LiteTensor | None, axis: str) -> bool:
    if tensor is None or tensor.quantization is None:
        return False
    along = int(axis) if axis else tensor.quantization.axis
    count = len(tensor.quantization.scale)
    return (count > 1 or bool(axis)) and along < len(tensor.shape) and count == tensor.shape[along]


@cache
def _option_default(table: str, name: str) -> object:
    fields = lite_schema().tables.get(table, ())
    return next((field.default for field in fields if field.name == name), None)


@cache
def _parsed(feature: str) -> dict[str, str]:
    match = ATOM.fullmatch(feature)
    assert match is not None, feature
    return match.groupdict()


@cache
def _rows() -> dict[str, list[VersionRow]]:
    """The rows of `op_versions.txt` by op."""
    text = Path(__file__).with_name("op_versions.txt").read_text("utf-8")
    rows: dict[str, list[VersionRow]] = {}
    current: list[VersionRow] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line[0].isdigit():
            version, *features = line.split()
            current.append(VersionRow(int(version), tuple(features)))
        else:
            current = []
            rows |= dict.fromkeys(line.split(), current)
    return rows
