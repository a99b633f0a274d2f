"""Random numbers: from the same seeds, those of TensorFlow."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node

OPS = {"RANDOM_UNIFORM": "RandomUniform", "RANDOM_STANDARD_NORMAL": "RandomStandardNormal"}


@builtin("RANDOM_UNIFORM RANDOM_STANDARD_NORMAL")
def random_numbers(b: OperatorBuilder, shape: LiteValue, *, seed: int, seed2: int) -> Node:
    return b.effect(OPS[b.operator.code.op], shape, dtype=FLOAT32, seed=seed, seed2=seed2)


@builtin("MULTINOMIAL")
def multinomial(b: OperatorBuilder, logits: LiteValue, samples: LiteValue, *, seed: int, seed2: int) -> Node:
    dtype = b.dtype(b.outputs[0].type)
    return b.effect("Multinomial", logits, samples, output_dtype=dtype, seed=seed, seed2=seed2)
