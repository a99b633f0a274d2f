"""A TensorFlow Lite file that LiteRT runs unchanged: the answers are those of its interpreter.

Files that it may not have (`trusted_files`), and those that it rejects, run like other models, island by
island.

The variables of a file are in its interpreter, so that a session has one for all its runs, and runs nothing
else (`StatefulFile`). Their sizes must be known, and an initializer must set them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.extras import is_installed
from tfport.frontends.lite.build import file_signatures
from tfport.graph.model import Model
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import EngineFailed, LiteFiles
from tfport.runtime.engines.litert.litert import PACKAGE, Interpreters, sentence_of
from tfport.runtime.engines.litert.trusted_files import (
    has_resizing,
    is_robust,
    keeps_plain_state,
    may_run_alone,
)
from tfport.startup.dataclass import dataclass, field


@dataclass
class WholeFile:
    """A file, and the tensors of its first subgraph by their names in the graph."""

    content: memoryview
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    threads: int
    shapes: Sequence[tuple[int, ...]] = ()
    """Those that the tensors must have when LiteRT has allocated them; of a file with state."""
    fixed_sizes: Mapping[int, tuple[int, ...]] | None = None
    """Those that its inputs must have; None if it may be computed for others."""

    @property
    def has_state(self) -> bool:
        return bool(self.shapes)

    @functools.cached_property
    def the_only_one(self) -> Interpreters:
        """The interpreter that has the state; an error if a variable would change its size."""
        interpreters = Interpreters(bytes(self.content), self.threads, most=1)
        with interpreters.one() as interpreter:
            details = interpreter.get_tensor_details()
        if any(tuple(d["shape"].tolist()) != self.shapes[d["index"]] for d in details[: len(self.shapes)]):
            raise Error("the operators compute other sizes than the file states")
        return interpreters

    def plan(self, fetches: Sequence[str], feeds: Sequence[str]) -> WholeFilePlan | None:
        """A plan for the inputs and outputs of the file; None for others, or if LiteRT rejects it."""
        if set(feeds) != set(self.inputs) or not set(fetches) <= set(self.outputs):
            return None
        try:
            own = self.the_only_one if self.has_state else Interpreters(bytes(self.content), self.threads)
        except Error:
            return None
        inputs, outputs = [self.inputs[name] for name in feeds], [self.outputs[name] for name in fetches]
        fixed = None if self.fixed_sizes is None else [self.fixed_sizes[index] for index in inputs]
        return WholeFilePlan(own, inputs, outputs, resizes=not self.has_state, fixed_sizes=fixed)


@dataclass(frozen=True)
class WholeFilePlan:
    """Runs a file in interpreters."""

    interpreters: Interpreters
    inputs: Sequence[int]
    outputs: Sequence[int]
    sizes: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    """The sizes of the inputs in the last run of each interpreter, which are kept as long as the plan."""
    resizes: bool = True
    fixed_sizes: Sequence[tuple[int, ...]] | None = None
    """Those that the inputs must have; None if they may have others."""
    is_steady = True
    name = "litert"

    def run(self, arrays: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        scope = current_scope()
        if scope is not None:
            scope.stop.check()
        interpreter = self.interpreters.take()
        try:
            if self.resizes:
                self._resize(interpreter, arrays)
            for tensor, array in zip(self.inputs, arrays, strict=True):
                interpreter.set_tensor(tensor, array)
            interpreter.invoke()
            results = [*map(interpreter.get_tensor, self.outputs)]
        except (RuntimeError, ValueError) as error:
            raise EngineFailed(sentence_of(error)) from None
        finally:
            self.interpreters.give_back(interpreter)
        if scope is not None:
            scope.stop.check()
        return results

    run_from_host = run

    def _resize(self, interpreter: Any, arrays: Sequence[Any]) -> None:
        """Give the inputs of an interpreter the sizes of these arrays, if it had others in its last run."""
        sizes = [array.shape for array in arrays]
        if self.sizes.get(id(interpreter)) == sizes:
            return
        # resizing an empty image ends the process in LiteRT 2.3.0
        if any(0 in size for size in sizes) or (self.fixed_sizes is not None and sizes != self.fixed_sizes):
            raise EngineFailed("an input is empty, or has another size than the file states")
        self.sizes.pop(id(interpreter), None)  # until they are allocated
        for tensor, size in zip(self.inputs, sizes, strict=True):
            interpreter.resize_tensor_input(tensor, size)
        interpreter.allocate_tensors()
        self.sizes[id(interpreter)] = sizes


def whole_file(model: Model, threads: int, which: LiteFiles) -> WholeFile | None:
    """The file of a model that nobody changed, if LiteRT is installed and may run it."""
    file = model.lite
    if file is None or not is_installed(PACKAGE):
        return None
    has_state = not may_run_alone(file)
    if has_state and not keeps_plain_state(file):
        return None
    if which is not LiteFiles.ALL and not is_robust(file):
        return None
    content = model.unchanged_file(model.graph) if model.unchanged_file is not None else None
    if content is None:
        return None
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for key, number, own_inputs, own_outputs in file_signatures(file):
        signature = model.signatures.get(key)
        if number == 0 and signature is not None:
            inputs |= {signature.inputs[name].tensors[0]: index for name, index in own_inputs.items()}
            outputs |= {signature.outputs[name].tensors[0]: index for name, index in own_outputs.items()}
    if set(inputs.values()) != set(file.subgraphs[0].inputs):
        return None
    shapes = [tensor.shape for tensor in file.subgraphs[0].tensors] if has_state else []
    sizes = {index: file.subgraphs[0].tensors[index].shape for index in inputs.values()}
    return WholeFile(content, inputs, outputs, threads, shapes, sizes if has_resizing(file) else None)
