"""Sparse matrices of dense ones, as feature columns make them: one step, with the same answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.runtime.passes import pass_list
from tfport.runtime.passes.programs.sparse_columns import FEW, SPARSE_COLUMN, elements_of

MASKS = "begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=1"
COLUMN = f"""
    x = Placeholder() {{{{dtype={{type}}, shape=(?, ?)}}}}
    padding = Const() {{{{dtype={{type}}, value={{type}}()[{{padding}}]}}}}
    zero = Const() {{{{dtype=int32, value=int32(1)[0]}}}}
    one = Const() {{{{dtype=int32, value=int32(1)[1]}}}}
    rest = Const() {{{{dtype=int32, value=int32()[-1]}}}}
    present = NotEqual(x, padding) {{{{T={{type}}, incompatible_shape_error=true}}}}
    places = Where(present) {{{{T=bool}}}}
    values = GatherNd(x, places) {{{{Tindices=int64, Tparams={{type}}}}}}
    sizes = Shape(x) {{{{T={{type}}, out_type=int64}}}}
    small = Cast(sizes) {{{{SrcT=int64, DstT=int32}}}}
    rows = StridedSlice(small, zero, one, one) {{{{Index=int32, T=int32, {MASKS}}}}}
    packed = Pack(rows, rest) {{{{N=2, T=int32, axis=0}}}}
    wanted = Cast(packed) {{{{SrcT=int32, DstT=int64}}}}
    reshaped = SparseReshape(places, sizes, wanted) {{{{}}}}
"""
VALID = """
    low = Const() {dtype=int64, value=int64()[0]}
    high = Const() {dtype=int64, value=int64()[20]}
    default = Const() {dtype=int64, value=int64()[7]}
    below = Less(values, low) {T=int64}
    above = GreaterEqual(values, high) {T=int64}
    wrong = LogicalOr(below, above) {}
    count = Shape(values) {T=int64, out_type=int32}
    defaults = Fill(count, default) {T=int64, index_type=int32}
    valid = SelectV2(wrong, defaults, values) {T=int64}
"""
IDS = COLUMN.format(type="int64", padding="-1") + VALID
WORDS = COLUMN.format(type="string", padding='""')
OTHERS = [name for name in pass_list.PROGRAM if name != "sparse_columns"]
FETCHES = ["reshaped:0", "reshaped:1", "values:0", "places:0"]


def kinds(session):
    return [op for made in session.plans.plans for op in made.ops]


def answers(text, fetches, x):
    session = session_of(text)
    try:
        return [(a.dtype, a.shape, a.tolist()) for a in session.run(fetches, {"x:0": x})], kinds(session)
    except RunFailed as error:
        return str(error), kinds(session)


def same(monkeypatch, text, fetches, x):
    """Compare with the steps as they are; the ops that run."""
    joined, ops = answers(text, fetches, x)
    with monkeypatch.context() as patched:
        patched.setattr(pass_list, "PROGRAM", OTHERS)
        separate, others = answers(text, fetches, x)
    assert joined == separate
    assert SPARSE_COLUMN not in others
    return ops


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (3, 1), (5, 7), (40, 50), (0, 3), (3, 0)])
def test_columns_of_ids_are_one_step(monkeypatch, shape):
    x = np.random.default_rng(0).integers(-3, 25, shape)
    assert same(monkeypatch, IDS, [*FETCHES, "valid:0"], x) == [SPARSE_COLUMN]


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (5, 7), (1, 2000), (0, 3), (3, 0)])
def test_columns_of_words(monkeypatch, shape):
    words = np.array([b"", b"word", b"\xff\0", b""], object)
    x = words[np.random.default_rng(0).integers(0, 4, shape)]
    assert same(monkeypatch, WORDS, FETCHES, x) == [SPARSE_COLUMN]
    same(monkeypatch, WORDS, FETCHES, np.full(shape, b"", object))


def test_steps_inside_of_a_column_can_be_fetched(monkeypatch):
    x = np.array([[-1, 4, 30], [-2, 0, -1]])
    for fetch in ("present:0", "sizes:0", "wrong:0", "defaults:0", "wanted:0"):
        assert SPARSE_COLUMN in same(monkeypatch, IDS, [*FETCHES, "valid:0", fetch], x)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("value=int32()[-1]", "value=int32()[3]"),
        ("value=int32(1)[0]", "value=int32(1)[-2]"),
        ("Shape(x)", "Shape(present)"),
        ("SelectV2(wrong, defaults, values)", "SelectV2(wrong, values, defaults)"),
        ("Less(values, low)", "Less(low, values)"),
    ],
)
def test_what_differs_a_little_is_computed_as_it_is(monkeypatch, line, other):
    assert line in IDS
    text = IDS.replace(line, other).replace("Shape(present) {T=int64", "Shape(present) {T=bool")
    for x in (np.array([[-1, 4, 30], [-2, 0, -1]]), np.array([[2, 4]])):
        same(monkeypatch, text, [*FETCHES, "valid:0"], x)


def test_places_that_only_the_engine_reads_stay_there():
    session = session_of(IDS)
    session.run(["values:0", "places:0"], {"x:0": np.array([[1, -1]])})
    assert SPARSE_COLUMN not in kinds(session)


@given(x=arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, FEW)), elements=st.integers(-2, 2)))
def test_elements_are_those_that_are_not_padding(x):
    for dense, padding in ((x, np.int64(-1)), (np.where(x > 0, b"word", b""), b"")):
        taken, places = elements_of(dense.astype(object) if dense.dtype.kind == "S" else dense, padding)
        assert places.dtype == np.int64
        assert places.tolist() == np.argwhere(dense != padding).tolist()
        assert taken.tolist() == dense[dense != padding].tolist()
