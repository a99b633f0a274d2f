"""Make the subgraphs of a TensorFlow Lite file smaller, as the converter does: fewer operators, same answers.

Sums with and products by a number for each channel become the bias and weights of the operator before, and
limits its activation; a product with one number goes into the weights after it. Of two reshapes in a row the
first goes. What keeps negative indices from counting from the end goes, as GATHER refuses them itself.
Operators that nothing reads are removed, and what a loop carries for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHTS, BIAS, AXIS = 0, 1, 2
LINEAR: dict[str, tuple[int, int, int]] = {
    "CONV_2D": (1, 2, 0), "DEPTHWISE_CONV_2D": (1, 2, 3), "FULLY_CONNECTED": (1, 2, 0), "CONV_3D": (1, 2, 4),
    "TRANSPOSE_CONV": (1, 3, 0), "CONV_3D_TRANSPOSE": (1, 3, 3),
}  # fmt: skip
"""The inputs with the weights and the bias, and the axis of the channels in the weights."""
WEIGHTS_AT = {op: at for op, (at, _, _) in LINEAR.items()}
LEAST = 1e-6
"""A product with numbers between this one and its inverse does not lose digits of usual weights."""
INTEGERS = {"INT32": 4, "INT64": 8}
"""The bytes of integers that are indices."""
LARGEST = (2**31 - 1, 2**63 - 1)
ACTIVATIONS = {"RELU": "RELU", "RELU6": "RELU6", "RELU_N1_TO_1": "RELU_N1_TO_1"}
ACTIVATED = frozenset(
    ["ADD", "AVERAGE_POOL_2D", "CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D", "DIV", "FULLY_CONNECTED",
     "MAX_POOL_2D", "MUL", "SUB"]
)  # fmt: skip
"""Operators that may end with an activation in every version that has one."""
SMALL = 2**16
"""Buffers of up to this many bytes are compared; larger ones were before."""
ACTIVATION = "fused_activation_function"
EFFECTS = frozenset(
    [
        "ASSIGN_VARIABLE",
        "CALL_ONCE",
        "CUSTOM",
        "HASHTABLE_IMPORT",
        "IF",
        "READ_VARIABLE",
        "VAR_HANDLE",
        "WHILE",
    ]
)
"""Operators that stay even if nothing reads their results."""


def simplify(file: LiteFile) -> None:
    """Simplify all subgraphs of a file in place, and drop what is no longer used."""
    for graph in reversed(file.subgraphs):  # the bodies of loops before what they are in
        _drop_unread_state(file, graph)
    for graph in file.subgraphs:
        _Simplifier(file, graph).run()
    _renumber_buffers(file)


@dataclass
class _Simplifier:
    file: LiteFile
    graph: Subgraph

    def run(self) -> None:
        _drop_unread(self.graph)
        self._index()
        self._ask_sizes_later()
        for node in list(self.graph.operators):
            self._visit(node)
        _drop_unread(self.graph)
        self._renumber_tensors()

    def _index(self) -> None:
        operators = self.graph.operators
        self.readers = Counter(index for node in operators for index in node.inputs)
        self.readers.update(self.graph.outputs)
        self.makers = {index: node for node in operators for index in node.outputs}

    def _ask_sizes_later(self) -> None:
        """Ask for sizes after a bias and an activation, so that the operator before can include these."""
        later: dict[int, int] = {}
        for node in self.graph.operators:
            if node.code.op == "SHAPE" and node.inputs[0] in later:
                self.readers.subtract(node.inputs)
                while node.inputs[0] in later:
                    node.inputs = (later[node.inputs[0]],)
                self.readers.update(node.inputs)
            if node.code.op in ACTIVATIONS:
                later[node.inputs[0]] = node.outputs[0]
            if node.code.op == "ADD":
                for kept, other in (node.inputs, node.inputs[::-1]):
                    made, constant = self.makers.get(kept), self._constant(other)
                    is_bias = constant is not None and (constant.size,) == self._tensor(kept).shape[-1:]
                    if is_bias and made is not None and made.code.op in LINEAR:
                        later[kept] = node.outputs[0]

    def _visit(self, node: LiteOperator) -> None:
        op = node.code.op
        if op in ACTIVATIONS:
            self._activate(node)
        elif op in ("ADD", "SUB", "MUL"):
            self._fold(node)
        elif op == "RESHAPE":
            self._reshape(node)
        elif op == "GATHER":
            self._gather(node)
        if op == "ADD" and node in self.graph.operators:
            self._drop_zeros(node)
        elif op in LINEAR:
            self._scale(node)

    def _before(self, index: int) -> LiteOperator | None:
        """The operator that computes a tensor which nothing else reads."""
        node = self.makers.get(index)
        return node if node is not None and self.readers[index] == 1 and len(node.outputs) == 1 else None

    def _activate(self, node: LiteOperator) -> None:
        before = self._before(node.inputs[0])
        if before is None or before.code.op not in ACTIVATED or not _is_plain(before):
            return
        if self._tensor(node.inputs[0]).type == "FLOAT32":
            before.options[ACTIVATION] = ACTIVATIONS[node.code.op]
            self._merge(before, node)

    def _fold(self, node: LiteOperator) -> None:
        """A constant for each channel into the weights and the bias."""
        for number in (0, 1) if node.code.op != "SUB" else (0,):
            before, constant = self._before(node.inputs[number]), self._constant(node.inputs[1 - number])
            if before is None or before.code.op not in LINEAR or constant is None or not _is_plain(before):
                continue
            at_weights, at_bias, axis = LINEAR[before.code.op]
            weights = self._constant(before.inputs[at_weights])
            result = self._tensor(node.outputs[0])
            if weights is None or result.shape != self._tensor(node.inputs[number]).shape:
                continue
            channels = weights.shape[axis]
            if constant.ndim > len(result.shape) or constant.size not in (1, channels):
                continue
            if constant.size > 1 and constant.shape[-1] != channels:
                continue
            bias = self._bias(before, at_bias, channels)
            if bias is None:
                continue
            number_each = np.broadcast_to(constant.reshape(-1), (channels,))
            if node.code.op == "MUL":
                if self.readers[before.inputs[at_weights]] > 1:
                    continue
                factor = number_each.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])
                self._set(before, at_weights, weights * factor)
                bias = bias * number_each
            else:
                bias = bias + (number_each if node.code.op == "ADD" else -number_each)
            self._set(before, at_bias, bias.astype(np.float32))
            if _is_active(node):
                before.options[ACTIVATION] = node.options[ACTIVATION]
            self._merge(before, node)
            return

    def _drop_zeros(self, node: LiteOperator) -> None:
        """Let readers of a sum with zeros read what was added to them."""
        for number in (0, 1):
            constant, kept = self._constant(node.inputs[1 - number]), node.inputs[number]
            if constant is None or constant.any() or _is_active(node):
                continue
            open_axes = [axis for axis, size in enumerate(self._tensor(kept).dims[::-1]) if size is None]
            if any(axis < constant.ndim and constant.shape[-1 - axis] > 1 for axis in open_axes):
                continue
            if node.outputs[0] not in self.graph.outputs and self._are_alike(kept, node.outputs[0]):
                self._skip(node, kept)
                return

    def _scale(self, node: LiteOperator) -> None:
        """A product with one number into the weights that follow: pixels divided by 255."""
        before, weights = self._before(node.inputs[0]), self._constant(node.inputs[WEIGHTS_AT[node.code.op]])
        if before is None or before.code.op != "MUL" or _is_active(before) or weights is None:
            return
        if self.readers[node.inputs[WEIGHTS_AT[node.code.op]]] > 1:
            return
        for number in (0, 1):
            factor, kept = self._constant(before.inputs[1 - number]), before.inputs[number]
            if factor is None or factor.size != 1 or not self._are_alike(kept, before.outputs[0]):
                continue
            if LEAST < abs(float(factor.item())) < 1 / LEAST:
                self._set(node, WEIGHTS_AT[node.code.op], weights * factor.item())
                self._skip(before, kept)
                return

    def _gather(self, node: LiteOperator) -> None:
        """Without the choice of the largest integer for a negative index, which GATHER refuses as well."""
        choice = self.makers.get(node.inputs[1])
        if choice is None or choice.code.op not in ("SELECT", "SELECT_V2"):
            return
        less, kept = self.makers.get(choice.inputs[0]), choice.inputs[2]
        if less is None or less.code.op != "LESS" or less.inputs[0] != kept:
            return
        zero, largest = self._integer(less.inputs[1]), self._integer(choice.inputs[1])
        if zero == 0 and largest in LARGEST and self._are_alike(kept, node.inputs[1]):
            self.readers[node.inputs[1]] -= 1
            node.inputs = (node.inputs[0], kept)
            self.readers[kept] += 1

    def _skip(self, node: LiteOperator, kept: int) -> None:
        """Let all that read a result read one of its inputs."""
        (result,) = node.outputs
        for reader in self.graph.operators:
            reader.inputs = tuple(kept if index == result else index for index in reader.inputs)
        self.readers[kept] += self.readers.pop(result, 0) - 1
        self.graph.operators.remove(node)

    def _are_alike(self, first: int, second: int) -> bool:
        """Whether two tensors have the same type and sizes."""
        a, b = self._tensor(first), self._tensor(second)
        return (a.type, a.shape, a.dims) == (b.type, b.shape, b.dims)

    def _reshape(self, node: LiteOperator) -> None:
        before = self.makers.get(node.inputs[0])
        while before is not None and before.code.op == "RESHAPE":
            self.readers[node.inputs[0]] -= 1
            node.inputs = (before.inputs[0], *node.inputs[1:])
            self.readers[before.inputs[0]] += 1
            before = self.makers.get(before.inputs[0])
        is_read = node.outputs[0] not in self.graph.outputs and None not in self._tensor(node.inputs[0]).dims
        if is_read and self._are_alike(node.inputs[0], node.outputs[0]):
            self._skip(node, node.inputs[0])

    def _merge(self, before: LiteOperator, node: LiteOperator) -> None:
        """Let an operator compute what the one after it did."""
        before.outputs = node.outputs
        self.makers[node.outputs[0]] = before
        self.graph.operators.remove(node)

    # Tensors

    def _integer(self, index: int) -> int | None:
        """The only element of a constant of integers."""
        tensor = self._tensor(index)
        data = bytes(self.file.buffers[tensor.buffer]) if tensor.buffer else b""
        is_one = len(data) == INTEGERS.get(tensor.type)
        return int.from_bytes(data, "little", signed=True) if is_one else None

    def _tensor(self, index: int) -> LiteTensor:
        return self.graph.tensors[index]

    def _constant(self, index: int) -> NDArray[Any] | None:
        """The elements of a constant of float32."""
        if index < 0:
            return None
        tensor = self._tensor(index)
        data = self.file.buffers[tensor.buffer] if tensor.buffer else b""
        if tensor.type != "FLOAT32" or not len(data):
            return None
        return np.frombuffer(data, np.float32).reshape(tensor.shape)

    def _bias(self, node: LiteOperator, at: int, channels: int) -> NDArray[Any] | None:
        """The bias; zeros if there is none, None if it is computed."""
        if at >= len(node.inputs) or node.inputs[at] < 0:
            return np.zeros(channels, np.float32)
        return self._constant(node.inputs[at])

    def _set(self, node: LiteOperator, at: int, array: NDArray[Any]) -> None:
        self.file.buffers.append(np.ascontiguousarray(array, np.float32).reshape(-1).data.cast("B"))
        tensor = LiteTensor(
            f"{len(self.graph.tensors)}", "FLOAT32", array.shape, len(self.file.buffers) - 1, has_rank=True
        )
        self.graph.tensors.append(tensor)
        inputs = [*node.inputs, *[-1] * (at + 1 - len(node.inputs))]
        inputs[at] = len(self.graph.tensors) - 1
        self.readers[inputs[at]] += 1
        node.inputs = tuple(inputs)

    def _renumber_tensors(self) -> None:
        graph = self.graph
        used = {*graph.inputs, *graph.outputs}
        for node in graph.operators:
            used.update(node.inputs, node.outputs, node.intermediates)
        order = sorted(index for index in used if index >= 0)
        new = {old: number for number, old in enumerate(order)} | {-1: -1}
        graph.tensors[:] = [graph.tensors[index] for index in order]
        graph.inputs, graph.outputs = (tuple(new[i] for i in ends) for ends in (graph.inputs, graph.outputs))
        for node in graph.operators:
            node.inputs, node.outputs = (tuple(new[i] for i in ends) for ends in (node.inputs, node.outputs))
            node.intermediates = tuple(new[i] for i in node.intermediates)
        number = self.file.subgraphs.index(graph)
        for signature in self.file.signatures:
            if signature.subgraph == number:
                signature.inputs = {name: new[index] for name, index in signature.inputs.items()}
                signature.outputs = {name: new[index] for name, index in signature.outputs.items()}


def _drop_unread(graph: Subgraph) -> None:
    """Drop the operators whose results nothing reads."""
    needed = set(graph.outputs)
    kept = []
    for node in reversed(graph.operators):
        if node.code.op in EFFECTS or not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    graph.operators[:] = kept[::-1]


def _drop_unread_state(file: LiteFile, graph: Subgraph) -> None:
    """Drop what a loop carries if nothing reads it, inside or after: the outputs of all steps of a layer."""
    _drop_unread(graph)
    read = {index for node in graph.operators for index in node.inputs} | {*graph.outputs}
    for loop in graph.operators:
        if loop.code.op != "WHILE":
            continue
        names = ("cond_subgraph_index", "body_subgraph_index")
        condition, body = (file.subgraphs[loop.options.get(name, 0)] for name in names)
        for place in reversed(range(len(loop.inputs))):
            if loop.outputs[place] in read or body.inputs[place] == body.outputs[place]:
                continue
            others = (*body.outputs[:place], *body.outputs[place + 1 :])
            needed = _needed_for(condition, condition.outputs, condition.inputs[place])
            if needed or _needed_for(body, others, body.inputs[place]):
                continue
            loop.inputs, loop.outputs, condition.inputs, body.inputs, body.outputs = (
                (*ends[:place], *ends[place + 1 :])
                for ends in (loop.inputs, loop.outputs, condition.inputs, body.inputs, body.outputs)
            )
            _drop_unread(body)


def _needed_for(graph: Subgraph, ends: Sequence[int], start: int) -> bool:
    """Whether a tensor is needed for others, or for what has an effect."""
    needed = set(ends)
    for node in reversed(graph.operators):
        if node.code.op in EFFECTS or not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
    return start in needed


def _is_active(node: LiteOperator) -> bool:
    return bool(node.options.get(ACTIVATION, "NONE") != "NONE")


def _is_plain(node: LiteOperator) -> bool:
    return not _is_active(node)


def _renumber_buffers(file: LiteFile) -> None:
    """Drop buffers that no tensor uses, and all but one of equal ones."""
    used = {0, *(tensor.buffer for graph in file.subgraphs for tensor in graph.tensors)}
    used |= {buffer for _, buffer in file.metadata}
    order, new, seen = list[int](), dict[int, int](), dict[bytes, int]()
    for old in sorted(used):
        content = bytes(file.buffers[old]) if 0 < len(file.buffers[old]) <= SMALL else b""
        if content in seen:
            new[old] = seen[content]
            continue
        new[old] = len(order)
        order.append(old)
        if content:
            seen[content] = new[old]
    for graph in file.subgraphs:
        graph.tensors[:] = [replace(tensor, buffer=new[tensor.buffer]) for tensor in graph.tensors]
    file.buffers[:] = [file.buffers[index] for index in order]
    file.metadata[:] = [(name, new[buffer]) for name, buffer in file.metadata]
