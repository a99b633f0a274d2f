"""A TensorFlow Lite file that LiteRT runs as it is: the answers are those of its interpreter.

That needs a file without state and without loops: an interpreter keeps its own variables, and cannot be
interrupted. Such files, and those that LiteRT rejects, run like other models, island by island.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.formats.lite.records import LiteFile, Subgraph
from tfport.frontends.lite.build import file_signatures
from tfport.graph.model import Model
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import EngineFailed
from tfport.runtime.engines.litert.litert import Interpreters, sentence_of
from tfport.startup.dataclass import dataclass, field

NOT_ALONE = frozenset(["CALL", "CALL_ONCE", "IF", "STABLEHLO_WHILE", "VAR_HANDLE", "WHILE", "CUSTOM"])
"""Operators with state, or that may run for ever, or that LiteRT does not have."""


@dataclass(frozen=True)
class WholeFile:
    """A file, and the tensors of its first subgraph by their names in the graph."""

    content: memoryview
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    threads: int

    def plan(self, fetches: Sequence[str], feeds: Sequence[str]) -> WholeFilePlan | None:
        """A plan for the inputs and outputs of the file; None for others, or if LiteRT rejects it."""
        if set(feeds) != set(self.inputs) or not set(fetches) <= set(self.outputs):
            return None
        try:
            interpreters = Interpreters(bytes(self.content), self.threads)
        except Error:
            return None
        inputs, outputs = [self.inputs[name] for name in feeds], [self.outputs[name] for name in fetches]
        return WholeFilePlan(interpreters, inputs, outputs)


@dataclass(frozen=True)
class WholeFilePlan:
    """Runs a file in interpreters."""

    interpreters: Interpreters
    inputs: Sequence[int]
    outputs: Sequence[int]
    sizes: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    """The sizes of the inputs in the last run of each interpreter, which are kept as long as the plan."""
    is_steady = True

    def run(self, arrays: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        with self.interpreters.one() as interpreter:
            try:
                self._resize(interpreter, arrays)
                for tensor, array in zip(self.inputs, arrays, strict=True):
                    interpreter.set_tensor(tensor, array)
                interpreter.invoke()
                results = [np.asarray(interpreter.get_tensor(tensor)) for tensor in self.outputs]
            except (RuntimeError, ValueError) as error:
                raise EngineFailed(sentence_of(error)) from None
        if (scope := current_scope()) is not None:
            scope.stop.check()
        return results

    def _resize(self, interpreter: Any, arrays: Sequence[Any]) -> None:
        """Give the inputs of an interpreter the sizes of these arrays, if it had others in its last run."""
        sizes = [array.shape for array in arrays]
        if self.sizes.get(id(interpreter)) == sizes:
            return
        self.sizes.pop(id(interpreter), None)  # until they are allocated
        for tensor, size in zip(self.inputs, sizes, strict=True):
            interpreter.resize_tensor_input(tensor, size)
        interpreter.allocate_tensors()
        self.sizes[id(interpreter)] = sizes


def whole_file(model: Model, threads: int) -> WholeFile | None:
    """The file of a model that nobody changed, if LiteRT may run it as it is."""
    file = model.lite
    if file is None or not may_run_alone(file):
        return None
    content = model.unchanged_file(model.graph) if model.unchanged_file is not None else None
    if content is None:
        return None
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for key, number, own_inputs, own_outputs in file_signatures(file):
        if number == 0:
            signature = model.signatures[key]
            inputs |= {signature.inputs[name].tensors[0]: index for name, index in own_inputs.items()}
            outputs |= {signature.outputs[name].tensors[0]: index for name, index in own_outputs.items()}
    if set(inputs.values()) != set(file.subgraphs[0].inputs):
        return None
    return WholeFile(content, inputs, outputs, threads)


def may_run_alone(file: LiteFile) -> bool:
    """Whether one interpreter may run a file again and again: without state, and to an end."""
    if not file.subgraphs or file.external_buffers or file.external_buffer_groups:
        return False
    return all(map(_is_plain, file.subgraphs))


def _is_plain(subgraph: Subgraph) -> bool:
    ends = [subgraph.tensors[index] for index in (*subgraph.inputs, *subgraph.outputs)]
    return (
        not any(operator.code.op in NOT_ALONE for operator in subgraph.operators)
        and not any(tensor.is_variable for tensor in subgraph.tensors)
        and not any(tensor.type in ("STRING", "RESOURCE", "VARIANT") for tensor in ends)
    )
