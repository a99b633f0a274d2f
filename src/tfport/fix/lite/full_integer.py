"""Weights and activations as int8, by ai-edge-quantizer, with scales from inputs of the user.

The package is an extra: it is Python alone, and needs LiteRT but no TensorFlow. It prints, which a command
must not, so what it prints is dropped.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfport.errors import Error
from tfport.extras import is_installed, missing
from tfport.graph.model import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

FULL_INT8 = "full-int8"
PACKAGE = "ai_edge_quantizer"
Sample = Mapping[str, "NDArray[Any]"]


def samples_of(inputs: Mapping[str, Any], signatures: Mapping[str, Signature]) -> dict[str, list[Sample]]:
    """The calls for each signature that takes these inputs: rows, in batches as the model states them."""
    fitting = {name: s for name, s in signatures.items() if set(s.inputs) <= set(inputs)}
    if not fitting:
        wanted = "; ".join(f"{name} takes {', '.join(s.inputs)}" for name, s in signatures.items())
        raise Error(
            f"the inputs {', '.join(inputs) or '(none)'} to calibrate with match no signature; {wanted}"
        )
    return {name: _rows(inputs, signature) for name, signature in fitting.items()}


def _rows(inputs: Mapping[str, Any], signature: Signature) -> list[Sample]:
    arrays = {name: inputs[name] for name in signature.inputs}
    firsts = [spec.shape.dims[0] if spec.shape.dims else None for spec in signature.inputs.values()]
    lengths = {len(array) if array.ndim else 0 for array in arrays.values()}
    batch = next((size for size in firsts if size), 1)
    if len(lengths) != 1 or not (count := lengths.pop() // batch):
        return [arrays]
    return [
        {name: array[i * batch : (i + 1) * batch] for name, array in arrays.items()} for i in range(count)
    ]


def full_integer(data: bytes, samples: Mapping[str, Sequence[Sample]]) -> bytes:
    """A file of floats as one of int8, calibrated with these calls."""
    if not is_installed(PACKAGE):
        raise missing(PACKAGE, f"--weights {FULL_INT8}")
    silent = io.StringIO()
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            quantizer = importlib.import_module(f"{PACKAGE}.quantizer").Quantizer(bytearray(data))
            quantizer.load_quantization_recipe(importlib.import_module(f"{PACKAGE}.recipe").static_wi8_ai8())
            ops = importlib.import_module(f"{PACKAGE}.qtyping").TFLOperationName
            for end in (ops.INPUT, ops.OUTPUT):  # callers keep their types
                quantizer.update_quantization_recipe(".*", end, algorithm_key="no_quantize")
            measured = quantizer.calibrate({name: list(calls) for name, calls in samples.items()})
            return bytes(quantizer.quantize(measured).quantized_model)
    except (RuntimeError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        first = str(error).strip().splitlines()[:1]
        raise Error(f"ai-edge-quantizer cannot quantize this model: {''.join(first)}") from None
