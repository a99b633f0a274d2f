"""Every operator that is declared has a case with an answer of the real interpreter."""

import importlib
from pathlib import Path

from tfport.frontends.lite.operator import BUILTINS, CUSTOMS

HERE = Path(__file__).parent
WITHOUT_ANSWER = {
    "CALL": "no interpreter registers it",
    "DENSIFY": "its input is sparse: tests/frontends/lite/test_constants.py",
    "RANDOM_STANDARD_NORMAL": "its numbers are the interpreter's own",
    "RANDOM_UNIFORM": "its numbers are the interpreter's own",
    "Landmarks2TransformMatrix": "only MediaPipe registers it",
    "TransformLandmarks": "only MediaPipe registers it",
    "TransformTensorBilinear": "only MediaPipe registers it",
    "MaxPoolingWithArgmax2D": "only MediaPipe registers it",
    "MaxUnpooling2D": "only MediaPipe registers it",
    "Convolution2DTransposeBias": "only a delegate runs it",
    "Flex": "the interpreter of TensorFlow 2.21 has no Flex delegate",
    "*": "any other custom op",
}
"""Tested without a recorded answer, and why."""
STABLEHLO = "STABLEHLO_"
"""Interpreters register few of these; the others are tested with the answers of XLA."""


def cases():
    for file in sorted(HERE.rglob("test_*.py")):
        if "\nCASES" in file.read_text():
            module = ".".join(file.relative_to(HERE).with_suffix("").parts)
            yield from importlib.import_module(f"tests.frontends.lite.ops.{module}").CASES


def answered():
    """The ops of all cases, each with whether a tensor of the case is quantized."""
    for c in cases():
        parts = [*c.subgraphs, *(c.file.subgraphs if c.file else [])]
        ops = {c.custom or c.op, *(o.code.name for part in parts for o in part.operators)}
        tensors = [t for t in (*c.inputs, *c.outputs) if t is not None]
        is_quantized = any(t.scale for t in tensors) or any(t.quantization for p in parts for t in p.tensors)
        yield from ((op, is_quantized) for op in ops)


def test_every_declared_operator_has_a_recorded_answer():
    have = set(answered())
    wanted = {
        (op, declared.quantized, declared.any_type)
        for catalog in (BUILTINS, CUSTOMS)
        for op, declarations in catalog.all().items()
        for declared in declarations
        if op not in WITHOUT_ANSWER and not op.startswith(STABLEHLO)
    }
    missing = [
        (op, quantized)
        for op, quantized, any_type in sorted(wanted)
        if (op, quantized) not in have and not (any_type and (op, True) in have)
    ]
    assert missing == []
