"""The seam to what runs islands: an engine says which nodes of ONNX it has, and makes a model callable.

ONNX Runtime is the one that is shipped (`onnx_runtime`); OpenVINO reads the same
models (`openvino`); with `none` all runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import Error
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

Compiled = Callable[[Sequence[Any]], Sequence[Any]]
"""Arrays for the inputs of an island in, arrays of its outputs out."""


class Engine(Protocol):
    """Runs models of ONNX."""

    name: str

    def takes(self, node: OnnxNode) -> bool:
        """Whether it has a kernel for the node with inputs of these types."""
        ...

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        open_windows: bool = False,
    ) -> Compiled:
        """A serialized model as a function; `weights` are its initialisers that are not inside.

        `open_windows`: some convolution does not know the size of what it goes over.
        """
        ...


def make_engine(name: str, threads: int | None = None, *, spins: bool = True) -> Engine:
    """The engine of this name; `spins` is for ONNX Runtime."""
    if name == "onnxruntime":
        from tfport.runtime.engines.onnx_runtime import OnnxRuntime

        return OnnxRuntime(threads, spins=spins)
    if name == "openvino":
        from tfport.runtime.engines.openvino import OpenVino

        return OpenVino(threads)
    if name == "none":
        from tfport.runtime.engines.no_engine import NoEngine

        return NoEngine()
    raise Error(f"there is no engine `{name}`; expected onnxruntime, openvino or none")
