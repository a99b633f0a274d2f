"""Hypothesis strategies for attributes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import FunctionRef, Placeholder
from tfport.graph.dtypes import DType
from tfport.graph.shapes import UNKNOWN, Shape
from tfport.graph.tensors import Tensor

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_./-]{0,8}", fullmatch=True)
DTYPES = st.sampled_from(sorted(set(pb.DataType.values()) - {0})).map(DType.of)
SHAPES = st.just(UNKNOWN) | st.builds(
    Shape, st.lists(st.none() | st.integers(0, 2**40), max_size=3).map(tuple)
)
NOT_UTF8 = st.binary(max_size=6).map(lambda b: b + b"\xff")
KINDS = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool"]
KINDS += ["int4", "int8", "uint8", "int32", "int64", "uint64"]
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda name: numpy_strategies.arrays(
        np.float32 if name in ("bfloat16", "int4") else name,
        numpy_strategies.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
        elements=st.integers(0, 7) if name in ("bfloat16", "int4") else None,
    ).map(lambda array: Tensor.from_numpy(array.astype(DType.parse(name).numpy), DType.parse(name)))
)


def _strings(words: list[bytes]) -> Tensor:
    array = np.empty(len(words), object)
    array[:] = words
    return Tensor.from_numpy(array, DType.parse("string"))


TENSORS = ARRAYS | st.lists(st.binary(max_size=4) | NOT_UTF8, max_size=3).map(_strings)
SINGLE = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(width=32)
    | st.text(max_size=8)
    | NOT_UTF8
    | DTYPES
    | SHAPES
)


def _functions(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.builds(FunctionRef, NAMES, st.dictionaries(NAMES, values, max_size=2))


def _lists(kinds: list[st.SearchStrategy[object]]) -> st.SearchStrategy[object]:
    return st.one_of([st.lists(kind, max_size=3) for kind in kinds])


SIMPLE = SINGLE | TENSORS | st.builds(Placeholder, NAMES) | st.none()
ATTRS = st.recursive(
    SIMPLE
    | _lists([st.booleans(), st.integers(-9, 9), st.floats(width=32), st.text(max_size=3) | NOT_UTF8, DTYPES])
    | _lists([SHAPES, TENSORS]),
    lambda inner: _functions(inner) | st.lists(_functions(inner), max_size=2),
    max_leaves=4,
)
