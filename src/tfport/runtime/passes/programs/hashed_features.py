"""Find strings of Examples of which only hash buckets are used, and hash them where they are parsed.

Models of tables hash most of their categories. The bytes are hashed where they are in the Examples, and no
strings are created.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import FAILURES
from tfport.runtime.host_loop import original_steps
from tfport.runtime.operand import Operand
from tfport.runtime.ops.io.feature_columns import dense_features, feature_specs
from tfport.runtime.passes.pass_list import program_pass
from tfport.runtime.program import NeverLowered, Program, Step

PARSE, HASH = "ParseExampleV2", "StringToHashBucketFast"
FEW = 48
"""Up to this many Examples are parsed as strings, which is faster for them."""


@program_pass
def hashed_features(program: Program, engine: Engine) -> None:
    """Strings of Examples are hashed where they are parsed."""
    replaced: dict[Step, list[Step]] = {}
    for parse in program.steps:
        if parse.op == PARSE and (hashes := _hashes(program, parse)):
            joined = _joined(parse, hashes)
            if joined is not None:
                replaced |= {parse: [joined]} | {step: [] for steps in hashes.values() for step in steps}
    if replaced:
        program.replace(replaced)


def _hashes(program: Program, parse: Step) -> dict[int, Sequence[Step]]:
    """The steps that hash an output, by its index, for outputs that nothing else reads."""
    readers = {index: program.readers(output) for index, output in enumerate(parse.outputs)}
    return {
        index: steps
        for index, steps in readers.items()
        if steps and parse.outputs[index] not in program.results and all(map(_is_hash, steps))
    }


def _is_hash(step: Step) -> bool:
    return step.op == HASH and step.run is not None and int(step.attrs["num_buckets"]) > 0


def _joined(parse: Step, hashes: Mapping[int, Sequence[Step]]) -> Step | None:
    """One step for all; None if the features are not constant, or not valid."""
    from tfport.runtime.ops.io.kernels.parse_example import parse_batch

    constants = [operand.array for operand in parse.inputs[1:] if operand.array is not None]
    if parse.run is None or len(constants) < len(parse.inputs) - 1:
        return None
    names, sparse_keys, dense_keys, ragged_keys, *defaults = constants
    attrs: Mapping[str, Any] = parse.attrs
    try:
        sparse = feature_specs(sparse_keys.tolist(), attrs["sparse_types"])
        dense = dense_features(dense_keys.tolist(), defaults, attrs["dense_shapes"])
        ragged = feature_specs(ragged_keys.tolist(), attrs["ragged_value_types"])
    except RunFailed:  # its kernel says so when it runs
        return None
    first_dense = 3 * len(sparse)  # after their indices, values and shapes
    first_ragged = first_dense + len(dense)
    sparse = [spec.hashed() if len(sparse) + i in hashes else spec for i, spec in enumerate(sparse)]
    dense = [feature.hashed() if first_dense + i in hashes else feature for i, feature in enumerate(dense)]
    ragged = [spec.hashed() if first_ragged + i in hashes else spec for i, spec in enumerate(ragged)]
    buckets = [(index, step) for index, steps in hashes.items() for step in steps]
    kept = [(index, output) for index, output in enumerate(parse.outputs) if index not in hashes]
    outputs: tuple[Operand, ...] = (*(o for _, o in kept), *(step.outputs[0] for _, step in buckets))
    original = original_steps([parse, *(step for _, step in buckets)], parse.inputs, outputs)

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        serialized = inputs[0]
        if serialized.ndim != 1 or len(serialized) <= FEW:
            return original(inputs)
        try:
            groups = parse_batch(serialized, names, sparse, dense, ragged)
        except FAILURES:
            return original(inputs)  # which names the op
        parsed = [array for group in groups for array in group]
        hashed = (parsed[index] % np.uint64(step.attrs["num_buckets"]) for index, step in buckets)
        return [
            *(parsed[index].astype(output.dtype.numpy, copy=False) for index, output in kept),
            *(array.astype(np.int64) for array in hashed),
        ]

    return Step(parse.name, PARSE, parse.inputs, outputs, run=run, why=NeverLowered.NO_ONNX_OP)
