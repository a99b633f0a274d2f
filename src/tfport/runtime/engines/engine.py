"""The interface of engines: which ONNX nodes an engine supports, and how it compiles a model.

ONNX Runtime is the default (`onnx_runtime`); OpenVINO runs the same models (`openvino`); `auto` chooses
between them for each island (`auto`); with `none` everything runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import Error, RunFailed
from tfport.runtime.onnx.island_work import UNKNOWN_WORK, IslandWork
from tfport.runtime.onnx.least_size import ANY
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

Compiled = Callable[[Sequence[Any]], Sequence[Any]]
"""A function from the input arrays of an island to its output arrays."""


class EngineFailed(RunFailed):
    """An engine reported an error: what is wrong with the inputs, in its own words, or its own limit."""


@dataclass(frozen=True, slots=True)
class IslandHints:
    """What a plan knows about an island, for an engine to choose how to run it."""

    least_size: int = ANY
    """For smaller inputs, some window may not fit into its image."""
    alone: bool = True
    """Whether no other island and no loop needs the cores between calls."""
    work: IslandWork = UNKNOWN_WORK
    """An estimate, to choose threads by."""
    with_prelus: Callable[[], OnnxModel] | None = None
    """The model with PRelu in place of the nodes that are faster in ONNX Runtime, if it has any."""


NO_HINTS = IslandHints()


class Engine(Protocol):
    """Compiles ONNX models."""

    name: str
    checks_indices: bool
    """Whether Gather fails for an index that is out of range."""

    def takes(self, node: OnnxNode) -> bool:
        """Whether the engine has a kernel for this node and the types of its inputs."""
        ...

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


def make_engine(name: str, threads: int | None = None, *, spins: bool = True, max_bytes: int = 0) -> Engine:
    """The engine of this name; `spins` and `max_bytes`: see `OnnxRuntime`."""
    if name == "onnxruntime":
        from tfport.runtime.engines.onnx_runtime import OnnxRuntime

        return OnnxRuntime(threads, spins=spins, max_bytes=max_bytes)
    if name == "auto":
        from tfport.runtime.engines.auto import AutoEngine

        return AutoEngine(threads, spins=spins, max_bytes=max_bytes)
    if name == "openvino":
        from tfport.runtime.engines.openvino import OpenVino

        return OpenVino(threads)
    if name == "none":
        from tfport.runtime.engines.no_engine import NoEngine

        return NoEngine()
    raise Error(f"unknown engine `{name}`; expected onnxruntime, openvino, auto or none")
