"""Look up what the version of an op in a message of TensorFlow Lite means."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.explain.lookup import Meaning, MessageMatch

FIRST = "1"
BEYOND = "PLACEHOLDER_FOR_GREATER_OP_CODES"
LARGEST = 1 << 31


def builtin_version(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the interpreter lacks the op or only its newer version."""
    op, version = match.names.get("op", BEYOND), match.names.get("version", "")
    if op == BEYOND:
        return Meaning(
            ["It stands for an op with a number that this interpreter does not know: it is too old."],
            ["use an interpreter of the converter's release or later", "convert with an older TensorFlow"],
        )
    if version == FIRST:
        return Meaning(
            ["Version 1 is the first one: the interpreter was built without the op."],
            [
                f"on a microcontroller, add {op} and every other op of the model to the op resolver",
                "elsewhere, use an interpreter with all built-in ops",
            ],
        )
    return Meaning(
        [
            f"The interpreter supports only versions of {op} below {version}: it is older than the "
            "converter, or has only a selection of ops."
        ],
        [
            "use an interpreter of the converter's release or later",
            f"where ops are selected (microcontrollers, own builds), add {op} to the op resolver",
            "convert with the release of the interpreter",
            "without dynamic-range or per-channel quantization, the converter often writes older versions",
        ],
    )


def arena(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the needed size is a negative number that was printed without its sign."""
    wanted = match.names.get("wanted")
    if wanted is None or int(wanted) < LARGEST:
        return Meaning()
    return Meaning(
        ["So large a number is a negative size: a dimension of the model is unknown (-1)."],
        ["convert the model with a fixed batch size and fixed shapes"],
    )
