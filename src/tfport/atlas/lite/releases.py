"""What every TensorFlow Lite interpreter registers, release by release.

Recorded from the wheels of tflite-runtime, ai-edge-litert and tensorflow by
`tools/atlas/lite_releases.py`. `lite_release("ai-edge-litert", "2.3.0")` is one release;
`lite_of_tensorflow("2.8.4")` the interpreter that a TensorFlow contains.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from tfport.atlas.lite.registry import FLEX, XNNPACK, LiteRegistry
from tfport.atlas.versions import version_key

OUTPUT = os.path.join(os.path.dirname(__file__), "releases.json.xz")
TFLITE_RUNTIME, LITERT, TENSORFLOW = "tflite-runtime", "ai-edge-litert", "tensorflow"
PACKAGES = (TFLITE_RUNTIME, LITERT)
"""The packages that are an interpreter and nothing else."""


@cache
def lite_versions(package: str) -> Mapping[str, int]:
    """The recorded versions of a package, the oldest first, with their places in the record."""
    rows = enumerate(_record()["releases"])
    return {version: number for number, (name, version, *_) in rows if name == package}


def lite_release(package: str, version: str) -> LiteRegistry | None:
    """The interpreter of a release by its exact version; None if it is not recorded."""
    wanted = version_key(version)
    for recorded, number in lite_versions(package).items():
        if version_key(recorded) == wanted:
            return _release(number)
    return None


def lite_of_tensorflow(version: str) -> LiteRegistry | None:
    """The interpreter of a TensorFlow: of the same patch, or of the nearest recorded one of its minor."""
    if (exact := lite_release(TENSORFLOW, version)) is not None:
        return exact
    minor = version_key(version).release[:2]
    same = [v for v in lite_versions(TENSORFLOW) if version_key(v).release[:2] == minor]
    return lite_release(TENSORFLOW, same[-1]) if same else None


@cache
def first_release_with(op: str, version: int) -> tuple[str, ...]:
    """The first recorded release of each package that has a version of an op: `tflite-runtime 2.8.0`."""
    first = []
    for package in (TFLITE_RUNTIME, LITERT, TENSORFLOW):
        for recorded, number in lite_versions(package).items():
            if version in (_release(number).versions(op) or ()):
                first.append(f"{package} {recorded}")
                break
    return tuple(first)


@cache
def lite_op_numbers() -> Mapping[str, int]:
    """The number of every builtin op that a recorded interpreter registers."""
    return {name: number for name, (number, _) in _record()["ops"].items()}


@cache
def _release(number: int) -> LiteRegistry:
    record = _record()
    package, version, newest, types, delegates, text, _ = record["releases"][number]
    return LiteRegistry(
        name=f"{package} {version}",
        package=package,
        version=version,
        ops={
            op: frozenset(_numbers(versions))
            for op, (_, rows) in record["ops"].items()
            for versions, where in rows.items()
            if number in _numbers(where)
        },
        newest=newest,
        custom_ops=_names("custom", number),
        delegates=frozenset(delegates.split()),
        delegated=_names("delegated", number) if XNNPACK in delegates else frozenset(),
        types=frozenset(_numbers(types)),
        texts=record["texts"][text],
    )


def flex_allow_list(version: str) -> frozenset[str] | None:
    """The TensorFlow ops that the converter of a release may write as Flex ops; None if unknown."""
    minor = version_key(version).release[:2]
    for recorded, number in reversed([*lite_versions(TENSORFLOW).items()]):
        if version_key(recorded).release[:2] == minor and _record()["releases"][number][-1]:
            return _names(FLEX, number)
    return None


def _names(kind: str, number: int) -> frozenset[str]:
    return frozenset(name for name, where in _record()[kind].items() if number in _numbers(where))


@cache
def _numbers(spans: str) -> frozenset[int]:
    ends = (span.partition("-") for span in spans.split(",") if span)
    return frozenset(n for first, _, last in ends for n in range(int(first), int(last or first) + 1))


@cache
def _record() -> dict[str, Any]:
    import lzma  # here, as few commands read it

    with lzma.open(OUTPUT) as file:
        record: dict[str, Any] = json.load(file)
    return record
