"""Ops whose outputs are much larger than what a client sends are refused before they allocate."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.errors import ResourceExhausted
from tfport.runtime.bounds.run_scope import RunLimits

MOST = 2**26
BIG = 100_000_000
FEW = 2**16
F32, I32, I64 = np.float32, np.int32, np.int64
PLACEHOLDERS = {"float32": F32, "int32": I32, "int64": I64}
CASES = {  # the op; its inputs with their types; values of inputs that are too much; small ones; their output
    "GatherNd": (
        "GatherNd(a, b) {Tparams=float32, Tindices=int32}",
        "a=float32(?,?) b=int32(?,1)",
        {"a": np.zeros((2, 10_000)), "b": np.zeros((10_000, 1))},
        {"a": np.zeros((2, 3)), "b": np.zeros((4, 1))},
        12,
    ),
    "ResourceGather": (
        "ResourceGather(v, b) {dtype=float32, Tindices=int32, batch_dims=0, validate_indices=true}",
        "b=int32(?)",
        {"b": np.zeros(10_000)},
        {"b": np.zeros(4)},
        40_000,
    ),
    "ResourceGatherNd": (
        "ResourceGatherNd(v, b) {dtype=float32, Tindices=int32}",
        "b=int32(?,1)",
        {"b": np.zeros((10_000, 1))},
        {"b": np.zeros((4, 1))},
        40_000,
    ),
    "GatherV2 with batches": (
        "GatherV2(a, b, one) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=1}",
        "a=float32(?,?,?) b=int32(?,?)",
        {"a": np.zeros((10, 2, 10_000)), "b": np.zeros((10, 1_000))},
        {"a": np.zeros((1_000, 2, 3)), "b": np.zeros((1_000, 8))},
        24_000,
    ),
    "DynamicStitch": (
        "DynamicStitch(a, b) {N=1, T=float32}",
        "a=int32(?) b=float32(?,?)",
        {"a": [BIG], "b": [[1, 2]]},
        {"a": [3, 0], "b": [[1, 2], [3, 4]]},
        8,
    ),
    "SegmentSum": (
        "SegmentSum(a, b) {T=float32, Tindices=int32}",
        "a=float32(?,?) b=int32(?)",
        {"a": [[1, 2]], "b": [BIG]},
        {"a": [[1, 2]], "b": [3]},
        8,
    ),
    "RaggedRange": (
        "RaggedRange(a, b, c) {T=int64, Tsplits=int64}",
        "a=int64(?) b=int64(?) c=int64(?)",
        {"a": [0], "b": [BIG], "c": [1]},
        {"a": [0, 0], "b": [3, 5], "c": [1, 1]},
        3,
    ),
    "RaggedTensorToTensor": (
        "RaggedTensorToTensor(s, a, d, b) {T=float32, Tindex=int64, Tshape=int64, "
        'num_row_partition_tensors=1, row_partition_types=["ROW_SPLITS"]}',
        "a=float32(?) b=int64(?)",
        {"a": np.zeros(10_000), "b": [*[0] * 10_000, 10_000]},
        {"a": [1, 2, 3], "b": [0, 1, 3]},
        4,
    ),
    "CropAndResize": (
        "CropAndResize(a, b, c, e)",
        "a=float32(?,?,?,?) b=float32(?,4) c=int32(?) e=int32(2)",
        {"a": np.zeros((1, 4, 4, 3)), "b": np.zeros((1, 4)), "c": [0], "e": [9_000, 9_000]},
        {"a": np.zeros((1, 4, 4, 3)), "b": np.zeros((1, 4)), "c": [0], "e": [2, 2]},
        12,
    ),
    "ImageProjectiveTransformV2": (
        "ImageProjectiveTransformV2(a, b, e) {dtype=float32, interpolation=NEAREST}",
        "a=float32(?,?,?,?) b=float32(?,8) e=int32(2)",
        {"a": np.zeros((1, 4, 4, 3)), "b": [[1, 0, 0, 0, 1, 0, 0, 0]], "e": [9_000, 9_000]},
        {"a": np.zeros((1, 4, 4, 3)), "b": [[1, 0, 0, 0, 1, 0, 0, 0]], "e": [2, 2]},
        12,
    ),
    "Multinomial": (
        "Multinomial(a, n) {T=float32, output_dtype=int64, seed=1, seed2=1}",
        "a=float32(?,?) n=int32()",
        {"a": [[1, 2]], "n": BIG},
        {"a": [[1, 2]], "n": 3},
        3,
    ),
    "RandomGamma": (
        "RandomGamma(e, a) {S=int32, T=float32, seed=1, seed2=1}",
        "e=int32(2) a=float32(?)",
        {"e": [10_000, 10_000], "a": [1]},
        {"e": [2, 2], "a": [1, 2]},
        8,
    ),
}


@pytest.mark.parametrize("op", CASES)
def test_a_huge_output_is_refused_before_it_is_allocated(op):
    call, inputs, huge, small, size = CASES[op]
    text = """
    s = Const() {dtype=int64, value=int64(2)[-1, -1]}
    d = Const() {dtype=float32, value=float32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    dims = Const() {dtype=int32, value=int32(2)[2, 10000]}
    v = VarHandleOp() {dtype=float32, shape=(2, 10000), shared_name="v"}
    zeros = Fill(dims, d) {T=float32}
    start = AssignVariableOp(v, zeros) {dtype=float32}
    """
    types = {}
    for declared in inputs.split():
        name, _, rest = declared.partition("=")
        dtype, _, shape = rest.partition("(")
        types[name] = PLACEHOLDERS[dtype]
        text += f"{name} = Placeholder() {{dtype={dtype}, shape=({shape}}}\n    "
    session = session_of(f"{text}y = {call}\n", limits=RunLimits(max_bytes=MOST), engine="none")
    session.run("start")
    feeds = [{f"{name}:0": np.asarray(v, types[name]) for name, v in case.items()} for case in (huge, small)]
    assert session.run("y:0", feeds[1]).size == size
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhausted, match=r"^`y`: the tensors of this run need [\d,]+ bytes; "):
            session.run("y:0", feeds[0])
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


REPLACE = {  # the node that replaces, and one after it: alone, and in one step with another change of strings
    "RegexReplace": "y = RegexReplace(x, p, r)",
    "static": 'y = StaticRegexReplace(x) {pattern=".", rewrite="0123456789"}',
    "groups": r'y = StaticRegexReplace(x) {pattern="(.+)", rewrite="\\1\\1\\1\\1\\1\\1\\1\\1\\1"}',
    "chain": 'z = StringLower(x)\n    y = StaticRegexReplace(z) {pattern=".", rewrite="0123456789"}',
}


@pytest.mark.parametrize("texts", [[b"a" * 8_000], [b"a" * 100] * 80], ids=["long", "many"])
@pytest.mark.parametrize("form", REPLACE)
def test_strings_that_become_too_long_are_refused_before_they_are_there(form, texts):
    session = session_of(
        f"""
    x = Placeholder() {{dtype=string, shape=(?)}}
    p = Const() {{dtype=string, value=string()["."]}}
    r = Const() {{dtype=string, value=string()["0123456789"]}}
    {REPLACE[form]}
    """,
        limits=RunLimits(max_bytes=FEW),
        engine="none",
    )
    (short,) = session.run("y:0", {"x:0": np.array([b"ab"], object)})
    assert short == (b"ab" * 9 if form == "groups" else b"0123456789" * 2)
    feeds = {"x:0": np.array(texts, object)}
    tracemalloc.start()
    try:
        with pytest.raises(ResourceExhausted, match=r"the tensors of this run need [\d,]+ bytes; "):
            session.run("y:0", feeds)
        assert tracemalloc.get_traced_memory()[1] < 4 * FEW
    finally:
        tracemalloc.stop()
