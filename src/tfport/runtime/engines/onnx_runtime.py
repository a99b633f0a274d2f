"""ONNX Runtime on the CPU."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from tfport.errors import Error, RunFailed
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.onnx.model import SMALL, onnx_model
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONLY_FATAL = 4
BLOCKED_LAYOUT = ("NchwcTransformer",)
"""With it a convolution over nothing, which others refuse, divides by zero and ends the process."""
LARGE = 128
"""So many rows and columns last through any network; fewer may not."""
_HAS: dict[tuple[object, ...], bool] = {}
"""Whether it has a kernel, by op and types: asked of ONNX Runtime itself, once in a process."""


class OnnxRuntime:
    """Makes sessions of ONNX Runtime; they may be run by any thread."""

    name = "ONNX Runtime"

    def __init__(self, threads: int | None = None, *, spins: bool = True) -> None:
        """`spins`: threads that wait for work keep their core; quicker where nobody else wants it."""
        self.threads = threads or len(os.sched_getaffinity(0))
        self.spins = spins

    def takes(self, node: OnnxNode) -> bool:
        if any(node.programs):
            return True  # their nodes were asked about one by one
        key = (
            node.domain,
            node.op,
            *(o and o.dtype.name for o in node.inputs),
            *(o.dtype.name for o in node.outputs),
        )
        if key not in _HAS:
            _HAS[key] = _has(node)
        return _HAS[key]

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, NDArray[Any]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        open_windows: bool = False,
    ) -> Compiled:
        options = _options(self.threads, self.spins)
        values = _give(options, weights)
        run = _session(model, options).run
        careful = functools.cache(lambda: _session(model, options, without=BLOCKED_LAYOUT).run)
        wanted, fed = list(outputs), list(inputs)

        def compiled(arrays: Sequence[Any]) -> Sequence[Any]:
            chosen = careful() if open_windows and _may_run_out(arrays) else run
            try:
                answers: Sequence[Any] = chosen(wanted, dict(zip(fed, arrays, strict=True)))
            except Exception as error:
                raise RunFailed(_sentence(error)) from None
            return answers

        compiled.keeps = values  # type: ignore[attr-defined]  # the session does not
        return compiled


def _session(model: bytes, options: ort.SessionOptions, without: Sequence[str] = ()) -> ort.InferenceSession:
    try:
        return ort.InferenceSession(
            model, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(without)
        )
    except Exception as error:  # ONNX Runtime has an exception of its own for each kind of error
        raise Error(f"ONNX Runtime does not take what tfport made of the model: {_sentence(error)}") from None


def _may_run_out(arrays: Sequence[Any]) -> bool:
    """Whether some image is so small that nothing may be left of it on the way."""
    return any(a.ndim == 4 and sum(size < LARGE for size in a.shape[1:]) > 1 for a in arrays)


def _options(threads: int, spins: bool = True) -> ort.SessionOptions:
    options = ort.SessionOptions()
    if not spins:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = ONLY_FATAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    return options


def _give(options: ort.SessionOptions, weights: Mapping[str, NDArray[Any]]) -> list[Any]:
    """Hand over constants that stay where they are; what is returned must live as long as the session."""
    arrays = [np.ascontiguousarray(array) for array in weights.values()]
    values = [_ort_value(array) for array in arrays]
    if values:
        options.add_external_initializers(list(weights), values)
    return list(zip(values, arrays, strict=True))


def _ort_value(array: NDArray[Any]) -> ort.OrtValue:
    plain = np.ascontiguousarray(array)
    if plain.dtype.name == "bfloat16":
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(plain.view(np.uint16), 16)
    return ort.OrtValue.ortvalue_from_numpy(plain)


def _has(node: OnnxNode) -> bool:
    """Try a model of this one node."""
    inputs = [o if o is None or _is_small(o) else Operand(o.dtype) for o in node.inputs]
    fresh = [o for o in inputs if o is not None and o.array is None]
    alone = OnnxNode(node.op, tuple(inputs), node.outputs, node.attrs, node.domain)
    try:
        island = onnx_model([alone], fresh, node.outputs)
        options = _options(1)
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        _kept = _give(options, island.weights)
        ort.InferenceSession(island.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of whatever kind: it does not take the node
        return False
    return True


def _is_small(operand: Operand) -> bool:
    return operand.array is not None and operand.array.nbytes <= SMALL


def _sentence(error: Exception) -> str:
    """What went wrong, without the codes and places in ONNX Runtime's own sources."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
