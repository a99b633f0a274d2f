"""Serialize the programs of `tests/frontends/stablehlo/programs.py`, and record TensorFlow's answers.

python -m tests.live.record_stablehlo
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.mlir.stablehlo import stablehlo
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tests.frontends.stablehlo.programs import PROGRAMS, VERSIONS
from tests.runtime.answers import write_answers
from tests.runtime.ops.xla.test_call_module import result_types


def serialized(text: str, version: str) -> Any:
    try:
        return np.frombuffer(stablehlo.serialize_portable_artifact_str(text, version), np.uint8)
    except Exception as error:  # this version does not have the op
        print(f"{version}: {str(error).splitlines()[0][:300]}")
        return np.zeros(0, np.uint8)


def answers(*arrays: Any, module: bytes, kinds: list[str]) -> Any:
    types = [getattr(tf, t.name) for t in result_types(kinds)]
    shapes = [[int(n) for n in kind[7:-1].split("x")[:-1]] for kind in kinds]

    def run(*inputs: Any) -> Any:
        return gen_xla_ops.xla_call_module(
            inputs, version=9, module=module, Sout=shapes, Tout=types, platforms=["CPU"]
        )

    return tf.function(run)(*map(tf.constant, arrays))


def main() -> None:
    recorded = {}
    for name, (text, inputs, kinds) in PROGRAMS.items():
        modules = [serialized(text, version) for version in VERSIONS]
        if not modules[1].size:
            print(f"{name}: cannot be serialized")
            continue
        run = functools.partial(answers, module=modules[1].tobytes(), kinds=kinds)
        try:
            recorded[name] = [*modules, *(a.numpy() for a in run(*inputs))]
        except tf.errors.OpError as error:
            print(f"{name}: {str(error)[:300]}")
    write_answers("stablehlo", recorded, tf.__version__)
    print(f"recorded {len(recorded)} of {len(PROGRAMS)} programs")


if __name__ == "__main__":
    main()
