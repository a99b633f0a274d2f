"""The interface of engines: which ONNX nodes an engine supports, and how it compiles a model.

ONNX Runtime is the default (`onnx_runtime`); OpenVINO runs the same models (`openvino`), LiteRT what can be
said in TensorFlow Lite (`litert`); `auto` chooses between them for each island (`auto`); with `none`
everything runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfport.errors import Error, RunFailed
from tfport.runtime.engines.choice_cache import ChoiceCache
from tfport.runtime.onnx.island_work import UNKNOWN_WORK, IslandWork
from tfport.runtime.onnx.least_size import ANY
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.passes.islands.island_parts import IslandParts, Share
from tfport.runtime.passes.pass_list import IslandForm, NodeForms
from tfport.runtime.program import OnnxNode, Program
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


Compiled = Callable[[Sequence[Any]], Sequence[Any]]
"""A function from the input arrays of an island to its output arrays."""


class LiteFiles(Enum):
    """Which `.tflite` files that nobody changed go to LiteRT as they are."""

    NONE = 0
    ROBUST = 1
    """Those of ops that LiteRT computes, or refuses, whatever a file says about them."""
    ALL = 2


Sizes = tuple[tuple[int, ...], ...]
"""Those of the inputs of an island."""


class EngineFailed(RunFailed):
    """An engine reported an error: what is wrong with the inputs, in its own words, or its own limit."""


class NumbersRefused(EngineFailed):
    """An engine does not handle some numbers of the inputs; without their rows it may run."""


class IslandRejected(Error):
    """An engine does not take an island at all."""


@dataclass(frozen=True, slots=True)
class IslandHints:
    """What a plan knows about an island, for an engine to choose how to run it."""

    least_size: int = ANY
    """For smaller inputs, some window may not fit into its image."""
    alone: bool = True
    """Whether no other island and no loop needs the cores between calls."""
    work: IslandWork = UNKNOWN_WORK
    """An estimate, to choose threads by."""
    host_outputs: int = 0
    """How many outputs, the last ones, the host reads after each run: flags."""
    for_batch: Callable[[int], OnnxModel | None] | None = None
    """The model for a number of sequences, if another one is faster for it."""
    in_parts: Callable[[], IslandParts | None] | None = None
    """The island with its convolutions or products apart, for cuDNN or cuBLASLt, if that pays."""
    in_advance: bool = False
    """Whether the island is made ready before its first inputs are known."""
    shares: Callable[[Callable[[OnnxNode], bool], NodeForms, Sizes], Sequence[Share]] | None = None
    """The island for inputs of certain sizes, divided between this engine and one that may compute only some
    nodes, in these forms."""
    save_as: Path | None = None
    """Where ONNX Runtime writes the model as it optimized it; the weights are written beside it."""


NO_HINTS = IslandHints()


@dataclass(frozen=True, slots=True)
class Rival:
    """What a GPU is measured against, for the device `auto`."""

    engine: Engine
    """The engine on the CPU."""
    choices: ChoiceCache
    settings: tuple[str, ...] = ()
    """What else the faster device depends on: the GPU, its precision, the threads."""
    required: bool = False
    """Whether a model that does not fit into the GPU's memory is an error."""
    tensorrt: Engine | None = None
    """TensorRT on the same GPU, where it is installed: measured too."""


class Engine(Protocol):
    """Compiles ONNX models."""

    name: str
    checks_indices: bool
    """Whether Gather in a loop fails for an index that is out of range."""
    on_device: bool = False
    """Whether islands return tensors in the memory of a device (`DeviceArray`)."""
    form: IslandForm
    threads: int
    """How many threads of the CPU may compute one call."""
    lite_files: LiteFiles = LiteFiles.NONE
    rival: Rival | None = None
    """What plans are measured against; None if they all run here."""

    def takes(self, node: OnnxNode) -> bool:
        """Whether the engine has a kernel for this node and the types of its inputs."""
        ...

    def complete(self, program: Program) -> None:
        """Lower steps of a program that only this engine has nodes for."""
        return

    def engine_for(self, nodes: Sequence[OnnxNode]) -> Engine:
        """What computes these nodes, which it takes: itself, or the engine beside a device on the CPU."""
        return self

    def has_kernel(self, node: OnnxNode) -> bool:
        """Whether the device of the engine itself has a kernel for this node and its types."""
        return self.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        """A serialized model as a function; `weights` are the initializers that are not in the message."""
        ...


def check_flag(flag: Any) -> None:
    """Raise NumbersRefused, so that the host computes the answer or says what is wrong."""
    if np.asarray(flag):
        raise NumbersRefused(
            "an index is out of range, or a recurrent layer reads a number that is not finite"
        )
