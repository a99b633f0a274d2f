"""What a TensorFlow Lite file asks for, and where a TensorFlow.js model has its weights. Findings 93x."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

from tfport.check.findings.finding import finding
from tfport.formats.lite.records import CUSTOM, LiteFile
from tfport.graph.op_effects import effects_of
from tfport.scan.risk import ERROR, NOTE, RISK, WARNING, Risk

REFUSED = "tfport's own runtime has no kernel for it"
RUNNING = "when the model runs"
HARMFUL = (
    "writes files",
    "deletes files",
    "network",
    "other machines",
    "loads code",
    "runs programs",
    "ends the process",
)
READS = ("reads files", "lists files", "python", "reads environment")
LARGEST_TENSOR = 1 << 36
"""Bytes; no device that runs TensorFlow Lite has as much memory."""
BITS = {
    "FLOAT64": 64, "INT64": 64, "UINT64": 64, "COMPLEX64": 64, "COMPLEX128": 128, "FLOAT16": 16, "INT16": 16,
    "UINT16": 16, "BFLOAT16": 16, "INT8": 8, "UINT8": 8, "BOOL": 8, "INT4": 4, "INT2": 2,
}  # fmt: skip
"""Of one element; 32 for other types."""


class LiteRisk(Risk):
    """Something in a TensorFlow Lite file, or in the files of a TensorFlow.js model."""

    detail: str = ""


@finding("TFP930", "lite-custom-op", WARNING, noticed=RISK)
class LiteCustomOp(LiteRisk):
    """custom op `{op}` needs code that is not in the file and could do anything {moment}

    ## Cause
    An interpreter knows only the builtin ops. The program that loads the model must register a
    custom op's code, which runs with the rights of the process.
    ## Fix
    Register such code only if you trust its source. MediaPipe and the LiteRT task libraries bring
    some custom ops.
    ## Example
        tfport scan tests/check/lite/files/custom.tflite
    """


@finding("TFP931", "lite-flex-op", NOTE, noticed=RISK)
class LiteFlexOp(LiteRisk):
    """op `Flex{op}` runs the TensorFlow op `{op}`, which {detail}, {moment}

    ## Cause
    The Flex delegate runs TensorFlow ops inside a TensorFlow Lite model, including those that use
    files or the network.
    ## Fix
    Load the model with an interpreter without the Flex delegate: it refuses the op.
    ## Example
        tfport scan tests/scan/files/flex_write.tflite
    """


@finding("TFP932", "lite-overlap", WARNING, noticed=RISK)
class LiteOverlap(LiteRisk):
    """{subject} overlap in the file

    ## Cause
    The converter writes each buffer to its own place. If buffers share some of their bytes,
    programs differ in what they read.
    ## Fix
    Do not load the file; convert the model again.
    ## Example
        tfport scan tests/scan/files/overlap.tflite
    """


@finding("TFP933", "lite-size", WARNING, noticed=RISK)
class LiteSize(LiteRisk):
    """tensor `{subject}` of shape {detail} fills the memory {moment}

    ## Cause
    The interpreter allocates the tensors of a model by the shapes in the file, before it runs.
    ## Fix
    Do not load the file, or limit the process's memory.
    ## Example
        tfport scan tests/scan/files/large_tensor.tflite
    """


@finding("TFP934", "tfjs-outside-weights", WARNING, noticed=RISK)
class OutsideWeights(LiteRisk):
    """{subject} takes weights from `{detail}`, outside of the model

    ## Cause
    `weightsManifest` names the weight files. TensorFlow.js reads them by their paths, relative to
    the model's address, or from another server; what is there becomes part of the model.
    ## Fix
    Put the weights next to the model. tfport does not read them from anywhere else.
    ## Example
        echo '{"format": "graph-model", "modelTopology": {"node": []},
        "weightsManifest": [{"paths": ["https://x/w.bin"]}]}' > model.json
        tfport scan model.json
    """


def lite_risks(file: LiteFile, *, is_built: bool) -> Iterator[Risk]:
    """What a file asks for; `is_built`: its graph was built, so that its Flex ops are nodes there."""
    for code in dict.fromkeys(file.operator_codes):
        if code.flex_op:
            yield from () if is_built else _flex(code.flex_op)
        elif code.op == CUSTOM and not is_built:
            yield LiteCustomOp(op=code.custom, moment=RUNNING, own_runtime=REFUSED)
    yield from _overlaps(file)
    for graph in file.subgraphs:
        for tensor in graph.tensors:
            if prod(tensor.shape) * BITS.get(tensor.type, 32) // 8 > LARGEST_TENSOR:
                yield LiteSize(subject=tensor.name, detail=str(list(tensor.shape)))


def _flex(op: str) -> Iterator[Risk]:
    effect = effects_of(op)
    if effect is not None and effect.does:
        harmful = any(does in HARMFUL for does in effect.does)
        level = ERROR if harmful else WARNING if any(does in READS for does in effect.does) else NOTE
        does = ", ".join(effect.does)
        yield LiteFlexOp(op=op, detail=f"does this: {does}", moment=RUNNING, level=level, own_runtime=REFUSED)


def _overlaps(file: LiteFile) -> Iterator[Risk]:
    """Buffers behind the flatbuffer that share a part of their bytes; equal ones may be the same."""
    if not file.outside:
        return
    import numpy as np

    spans = set[tuple[int, int, int]]()
    for number in file.outside:
        view = file.buffers[number]
        if len(view):
            start = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
            spans.add((start, start + len(view), number))
    ordered = sorted(spans)
    for (start, end, first), (after, its_end, second) in pairwise(ordered):
        if after < end and (start, end) != (after, its_end):
            yield LiteOverlap(subject=f"buffers {first} and {second}")
