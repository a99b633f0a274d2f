"""The small TensorFlow Lite files of these tests and of the pages about codes: one problem each.

python -m tests.check.lite.make_files writes them into tests/check/lite/files.
"""

from __future__ import annotations

import struct
from pathlib import Path

from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteSignature,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)
from tfport.formats.lite.schema import lite_schema
from tfport.formats.lite.write import lite_bytes

KEYS = ("serving_default", "second")
OUTSIDE = "outside"
FILES = Path(__file__).with_name("files")
ERF = (
    b"\x03Erf\x00\x15\n\x03erf\x12\x03Erf\x1a\x01x*\x07\n\x01T\x12\x020\x01\x00\x02\x1d\x18\x14\x14\x04(\x01"
)
"""The custom options of a Flex op: a flexbuffer with the name of the op and its NodeDef."""


def builtin(op: str, version: int = 1) -> OperatorCode:
    return OperatorCode(op, lite_schema().enums["BuiltinOperator"].numbers[op], version)


def custom(name: str) -> OperatorCode:
    return OperatorCode("CUSTOM", lite_schema().enums["BuiltinOperator"].numbers["CUSTOM"], 1, name)


def tensor(shape: tuple[int, ...] = (1, 4), kind: str = "FLOAT32", buffer: int = 0) -> LiteTensor:
    return LiteTensor("t", kind, shape, buffer, has_rank=True)


def subgraph(code: OperatorCode, *tensors: LiteTensor, inputs: int = 1, **fields: object) -> Subgraph:
    """A subgraph of one operator: its inputs are the first tensors, its outputs the others."""
    places = tuple(range(len(tensors)))
    node = LiteOperator(code, places[:inputs], places[inputs:], **fields)  # type: ignore[arg-type]
    fed = tuple(i for i in places[:inputs] if not tensors[i].buffer)
    return Subgraph("main", list(tensors), [node], fed, places[inputs:])


def file(
    *subgraphs: Subgraph,
    version: int = 3,
    buffers: tuple[bytes, ...] = (),
    codes: tuple[OperatorCode, ...] = (),
) -> LiteFile:
    """A file with a signature for each subgraph."""
    used = dict.fromkeys([*codes, *(node.code for graph in subgraphs for node in graph.operators)])
    signatures = [
        LiteSignature(KEYS[number], number, _named("x", graph.inputs), _named("y", graph.outputs))
        for number, graph in enumerate(subgraphs)
    ]
    return LiteFile("", version, "tfport tests", list(used), list(subgraphs), signatures, [b"", *buffers], [])


def _named(prefix: str, indices: tuple[int, ...]) -> dict[str, int]:
    return {f"{prefix}{number}": index for number, index in enumerate(indices)}


def perm(*axes: int) -> bytes:
    return b"".join(axis.to_bytes(4, "little") for axis in axes)


def _xnnpack_custom() -> LiteFile:
    """A custom op that only XNNPACK has."""
    pooling = struct.pack("<10i", 2, 2, 2, 2, 2, *[0] * 5)
    tensors = [tensor((1, 2, 2, 4)), tensor((1, 2, 2, 4)), tensor((1, 4, 4, 4))]
    return file(subgraph(custom("MaxUnpooling2D"), *tensors, inputs=2, custom_options=pooling))


def _without_signature() -> LiteFile:
    """A custom op that tfport builds and interpreters without XNNPACK do not have; no signatures."""
    record = _xnnpack_custom()
    record.signatures = []
    return record


def _wrong_axis() -> LiteFile:
    """A bias whose scales are along an axis that it does not have, as some tools write it."""
    weights = tensor((2, 1, 1, 1), "INT8", buffer=1)
    weights.quantization = TensorQuantization((0.5, 0.25), (0, 0), 0)
    bias = tensor((2,), "INT32", buffer=2)
    bias.quantization = TensorQuantization((0.25, 0.125), (0, 0), 3)
    x, y = tensor((1, 2, 2, 1), "INT8"), tensor((1, 2, 2, 2), "INT8")
    x.quantization, y.quantization = (TensorQuantization((0.5,), (0,)) for _ in range(2))
    options = {"stride_w": 1, "stride_h": 1}
    node = subgraph(
        builtin("CONV_2D", 3), x, weights, bias, y, inputs=3, options=options, options_type="Conv2DOptions"
    )
    return file(node, buffers=(b"\1\2", bytes(8)))


def _no_subgraph() -> LiteFile:
    return file(codes=(builtin("RELU"),))


def _shared() -> LiteFile:
    """An operator whose output is its input."""
    record = file(subgraph(builtin("ADD"), tensor(), tensor(), inputs=1, options_type="AddOptions"))
    record.subgraphs[0].operators[0].inputs = (0, 1)
    return record


def _many_constants() -> LiteFile:
    added = subgraph(
        builtin("ADD"), tensor((1, 256)), tensor((1, 256), buffer=1), tensor((1, 256)), inputs=2,
        options_type="AddOptions",
    )  # fmt: skip
    return file(added, buffers=(bytes(1024),))


RELU = subgraph(builtin("RELU"), tensor(), tensor())
CASES: dict[str, LiteFile] = {
    "relu": file(RELU),
    "gelu": file(subgraph(builtin("GELU"), tensor(), tensor(), options_type="GeluOptions")),
    "unregistered": file(subgraph(builtin("STABLEHLO_TANH"), tensor(), tensor())),
    "transpose_6d": file(
        subgraph(
            builtin("TRANSPOSE", 6),
            tensor((1, 2, 1, 2, 1, 3)),
            tensor((6,), "INT32", buffer=1),
            tensor((3, 1, 2, 1, 2, 1)),
            inputs=2,
            options_type="TransposeOptions",
        ),
        buffers=(perm(5, 4, 3, 2, 1, 0),),
    ),
    "needless_version": file(
        subgraph(
            builtin("TRANSPOSE", 4),
            tensor((1, 2)),
            tensor((2,), "INT32", buffer=1),
            tensor((2, 1)),
            inputs=2,
            options_type="TransposeOptions",
        ),
        buffers=(perm(1, 0),),
    ),
    "schema_4": file(RELU, version=4),
    "custom": file(subgraph(custom("Acme"), tensor(), tensor())),
    "flex": file(subgraph(custom("FlexErf"), tensor(), tensor(), custom_options=ERF)),
    "flex_no_kernel": file(
        subgraph(custom("FlexBoostedTreesBucketize"), tensor(), tensor(), custom_options=ERF)
    ),
    "flex_newer": file(subgraph(custom("FlexNoSuchOp"), tensor(), tensor(), custom_options=ERF)),
    "int4": file(RELU, subgraph(builtin("RELU"), tensor(kind="INT4"), tensor(kind="INT4"))),
    "xnnpack_custom": _xnnpack_custom(),
    "without_signature": _without_signature(),
    "second_entry": file(RELU, subgraph(custom("Acme"), tensor(), tensor())),
    "wrong_axis": _wrong_axis(),
    "no_subgraph": _no_subgraph(),
    "shared": _shared(),
    OUTSIDE: _many_constants(),
    "unused_code": file(RELU, codes=(builtin("GELU"),)),
}  # fmt: skip


def content(name: str) -> bytes:
    """The bytes of a file; the constants of one are behind its flatbuffer."""
    return lite_bytes(CASES[name], largest=0) if name == OUTSIDE else lite_bytes(CASES[name])


def main() -> None:
    FILES.mkdir(exist_ok=True)
    for name in CASES:
        (FILES / f"{name}.tflite").write_bytes(content(name))


if __name__ == "__main__":
    main()
