"""Look up what versions, sizes and dtypes in messages of TensorFlow Lite mean."""

from __future__ import annotations

import re

from tfport.atlas.lite.releases import first_release_with, first_release_with_custom, lite_op_numbers
from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch
from tfport.explain.ops import registered_by

FIRST = "1"
BEYOND = "PLACEHOLDER_FOR_GREATER_OP_CODES"
LARGEST = 1 << 31
TYPES = (
    "none", "float32", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8", "float16",
    "float64", "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16",
)  # fmt: skip
"""The dtypes of the interpreter by their number."""
TYPES_IN_FILES = (
    "float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8",
    "float64", "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16",
    "int2", "uint4",
)  # fmt: skip
"""The dtypes of files by their number."""
FLOAT_SIZE = 4
SIZE = re.compile(r"size|dim|num|elements|height|width|depth|channels|batch|rank|axis|bytes", re.IGNORECASE)
"""What a check of sizes contains."""
NO_SIZE = "What the numbers mean is not recorded: the line in that release's source code says."
OF_CONTRIB = "Its path, tensorflow/contrib/lite, is from TensorFlow 1.12 or earlier."


def builtin_version(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the interpreter lacks the op or only its newer version."""
    op, version = match.names.get("op", BEYOND), match.names.get("version", "")
    if op == BEYOND:
        return Meaning(
            [
                "It stands for an op with a number that this interpreter does not know: it is too old.",
                *_numbered(match.names.get("code", "")),
            ],
            ["use an interpreter of the converter's release or later", "convert with an older TensorFlow"],
        )
    if version == FIRST:
        return Meaning(
            ["Version 1 is the first one: the interpreter was built without the op.", *_since(op, 1)],
            [
                f"on a microcontroller, add {op} and every other op of the model to the op resolver",
                "elsewhere, use an interpreter with all built-in ops",
            ],
        )
    return Meaning(
        [
            f"The interpreter supports only versions of {op} below {version}: it is older than the "
            "converter, or has only a selection of ops.",
            *_since(op, int(version) if version.isdigit() else 0),
        ],
        [
            "use an interpreter of the converter's release or later",
            f"where ops are selected (microcontrollers, own builds), add {op} to the op resolver",
            "convert with the release of the interpreter",
            "without dynamic-range or per-channel quantization, the converter often writes older versions",
        ],
    )


def _numbered(code: str) -> list[str]:
    """Which op a number is, and since when it is registered; 127 stands for every larger one."""
    ops = {number: op for op, number in lite_op_numbers().items()}
    op = ops.get(int(code)) if code.isdigit() else None
    return [f"Number {code} is {op}.", *_since(op, 1)] if op else []


def _since(op: str, version: int) -> list[str]:
    """The first recorded interpreters with a version of an op."""
    first = first_release_with(op, version)
    return [f"{op} has version {version} since {', '.join(first)}."] if first else []


def custom_op(match: MessageMatch, target: Target | None) -> Meaning:
    """Which interpreters register a custom op themselves, or what registers it in TensorFlow."""
    op = match.names.get("op", "")
    first = first_release_with_custom(op)
    if not first:
        return registered_by(match, target)
    return Meaning(
        [
            f"The model contains the custom op {op}, which TensorFlow Lite itself has: full interpreters "
            f"register it, recorded since {', '.join(first)}. This one is older, or was built with a "
            "selection of ops.",
        ],
        [
            "use a newer interpreter, of the converter's release or later, with all ops",
            f"in your own build, use the `BuiltinOpResolver`, or add {op} with `AddCustom`",
        ],
        replaces=True,
    )


def arena(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the needed size is a negative number that was printed without its sign."""
    wanted = match.names.get("wanted")
    if wanted is None or int(wanted) < LARGEST:
        return Meaning()
    return Meaning(
        ["Such a large number is a negative size: a dimension of the model is unknown (-1)."],
        ["convert the model with a fixed batch size and fixed shapes"],
    )


def type_name(number: str, types: tuple[str, ...] = TYPES) -> str:
    """The dtype of a number."""
    return types[int(number)] if 0 <= int(number) < len(types) else f"dtype {number}"


def type_number(match: MessageMatch, target: Target | None) -> Meaning:
    """Which dtype it is."""
    return Meaning([f"It is {type_name(match.names['number'], TYPES_IN_FILES)}."])


def check(match: MessageMatch, target: Target | None) -> Meaning:
    """What a failed check of a kernel is about: the number of inputs, a rank, a dtype, or sizes."""
    text, left, right = match.names["check"], match.names["left"], match.names["right"]
    if "NumInputs" in text or "NumOutputs" in text:
        what = "inputs" if "NumInputs" in text else "outputs"
        return Meaning(
            [f"The op has {left} {what} in the file, but this interpreter expects {right}."],
            [
                "use the interpreter of the release that the model was converted for, or later",
                "name every output of the op when converting (TFLite_Detection_PostProcess has four: "
                "`:0` to `:3`)"
                if what == "outputs"
                else "convert the model again with an older TensorFlow",
            ],
        )
    if "type" in text.lower():
        return Meaning(
            [f"A tensor has the dtype {type_name(left)}, but {type_name(right)} is expected."],
            [
                "convert again with consistent dtypes: quantize the whole model (representative dataset, "
                "input and output types) or none of it",
                "if the dtype is one that newer releases support, use a newer interpreter",
            ],
        )
    if "dims->size" in text or "NumDimensions" in text:
        return Meaning(
            [f"A tensor has {left} dimensions, but {right} are expected."],
            [
                "pass an input with all dimensions, including the batch (Java: `float[1][…]`, or a "
                "ByteBuffer)",
                "if it has 0 dimensions, convert with a fixed input shape (`input_shapes`)",
            ],
        )
    if "scale" in text or "zero_point" in text:
        return Meaning(
            ["The quantization of an op's input and output differs where it must be equal."],
            ["convert the model again with a newer TensorFlow, quantized in one step from the float model"],
        )
    if match.before.endswith("contrib/"):
        return Meaning([NO_SIZE, OF_CONTRIB], ["use a newer interpreter: it may be older than the model"])
    if not SIZE.search(text) or "-1" in (left, right):
        return Meaning(
            [NO_SIZE],
            [
                "use the interpreter of the converter's release or later",
                "convert again with fixed shapes, and pass inputs of the size that the model declares",
            ],
        )
    return Meaning(
        [f"Sizes in the model or its inputs do not match: {left} and {right}."],
        [
            "pass inputs of the size that the model declares (`interpreter.get_input_details()`), and do not "
            "resize them to sizes that the model cannot take",
            "convert again with fixed shapes; use the interpreter of the converter's release or later",
        ],
    )


def input_sizes(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether one side counts bytes of float32 and the other bytes of uint8."""
    wanted, size = match.names.get("wanted", ""), match.names.get("found", "")
    if not (wanted.isdigit() and size.isdigit()) or int(size) == 0:
        return Meaning()
    if int(wanted) == FLOAT_SIZE * int(size):
        return Meaning(
            ["The model takes float32 (4 bytes per value), but the buffer has one byte per value."],
            ["fill the buffer with float32 values, normalized as in training"],
        )
    if int(size) == FLOAT_SIZE * int(wanted):
        return Meaning(
            ["The model takes one byte per value (quantized), but the buffer has float32 values."],
            ["fill the buffer with uint8 or int8 values"],
        )
    return Meaning()
