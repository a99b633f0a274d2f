"""What several nodes compute alike is computed once."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

WORDS = """
    words = Placeholder() {dtype=string, shape=(?, ?)}
    empty = Const() {dtype=string, value=string()[""]}
    also_empty = Const() {dtype=string, value=string()[""]}
    other = Const() {dtype=string, value=string()["a"]}
    a = NotEqual(words, empty) {T=string, incompatible_shape_error=true}
    b = NotEqual(words, also_empty) {T=string, incompatible_shape_error=true}
    c = NotEqual(words, other) {T=string, incompatible_shape_error=true}
    at_a = Where(a) {T=bool}
    at_b = Where(b) {T=bool}
    values_a = GatherNd(words, at_a) {Tindices=int64, Tparams=string}
    values_b = GatherNd(words, at_b) {Tindices=int64, Tparams=string}
    hash_a = StringToHashBucketFast(values_a) {num_buckets=10}
    hash_b = StringToHashBucketFast(values_b) {num_buckets=10}
    hash_c = StringToHashBucketFast(values_b) {num_buckets=11}
"""
X = np.float32([-1, 0, 2])


def ops_of(session, fetches, feeds):
    return [step.op for step in session.program(fetches, feeds).steps]


def test_equal_nodes_are_one_step():
    session = session_of(WORDS)
    assert ops_of(session, ["hash_a:0", "hash_b:0"], ["words:0"]) == [
        "NotEqual", "Where", "GatherNd", "StringToHashBucketFast"
    ]  # fmt: skip
    words = np.array([[b"a", b""], [b"b", b"a"]], object)
    first, second = session.run(["hash_a:0", "hash_b:0"], {"words:0": words})
    assert first.tolist() == second.tolist() == session.run("hash_a:0", {"words:0": words}).tolist()


def test_nodes_with_other_constants_or_attributes_are_not_shared():
    session = session_of(WORDS)
    ops = ops_of(session, ["hash_b:0", "hash_c:0", "b:0", "c:0"], ["words:0"])
    assert ops.count("StringToHashBucketFast") == 2
    assert ops.count("NotEqual") == 2


def test_zeros_of_both_signs_are_different():
    text = "x = Placeholder() {dtype=float32, shape=(3)}\n" + "\n".join(
        f"zero{i} = Const() {{dtype=float32, value=float32()[{zero}]}}\n"
        f"y{i} = Div(x, zero{i}) {{T=float32}}\n"
        f"z{i} = LeakyRelu(x) {{T=float32, alpha={zero}}}"
        for i, zero in enumerate(["0.0", "-0.0"])
    )
    got = session_of(text).run(["y0:0", "y1:0", "z0:0", "z1:0"], {"x:0": X})
    assert got[0].tolist()[2] == np.inf
    assert got[1].tolist()[2] == -np.inf
    assert np.signbit(got[2]).tolist() != np.signbit(got[3]).tolist()


def test_draws_and_tensor_lists_are_not_shared():
    text = """
        shape = Placeholder() {dtype=int32, shape=(1)}
        count = Placeholder() {dtype=int32, shape=()}
        x = Placeholder() {dtype=float32, shape=(2)}
        place = Const() {dtype=int32, value=int32()[0]}
        one = RandomUniform(shape) {dtype=float32, T=int32, seed=1, seed2=2}
        two = RandomUniform(shape) {dtype=float32, T=int32, seed=1, seed2=2}
        list_a = TensorListReserve(shape, count) {element_dtype=float32, shape_type=int32}
        list_b = TensorListReserve(shape, count) {element_dtype=float32, shape_type=int32}
        set_a = TensorListSetItem(list_a, place, x) {element_dtype=float32}
        size_b = TensorListGetItem(list_b, place, shape) {element_dtype=float32}
        got_a = TensorListGetItem(set_a, place, shape) {element_dtype=float32}
    """
    session = session_of(text)
    assert ops_of(session, ["one:0", "two:0"], ["shape:0"]) == ["RandomUniform"] * 2
    ops = ops_of(session, ["got_a:0", "size_b:0"], ["shape:0", "count:0", "x:0"])
    assert ops.count("TensorListReserve") == 2
    feeds = {"shape:0": [2], "count:0": 1, "x:0": np.float32([1, 2])}
    assert [a.tolist() for a in session.run(["got_a:0", "size_b:0"], feeds)] == [[1, 2], [0, 0]]


BRANCH = """
    x = Placeholder() {dtype=string, shape=(?)}
    p = Placeholder() {dtype=int32, shape=()}
    y = StatelessIf(p, x) {Tcond=int32, Tin=[string], Tout=[string], then_branch=@small, else_branch=@same}
    z = StringLower(x) {encoding=""}
    def small(a: string) -> (b: string):
      n = StringLower(a) {encoding=""}
      return b=n
    def same(a: string) -> (b: string):
      n = Identity(a) {T=string}
      return b=n
"""


@pytest.mark.parametrize("choice", [0, 1])
def test_a_step_outside_does_not_read_what_a_branch_computes(choice):
    y, z = session_of(BRANCH).run(["y:0", "z:0"], {"x:0": ["A"], "p:0": choice})
    assert (y.tolist(), z.tolist()) == ([b"a" if choice else b"A"], [b"a"])
