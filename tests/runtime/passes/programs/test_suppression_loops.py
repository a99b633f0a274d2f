"""The loop of `tf.image.non_max_suppression_padded` in which boxes suppress each other."""

import numpy as np
import pytest
from tests.runtime.cases import check, checks, graph_case
from tests.runtime.programs import session_of

BOXES = 6
TEXT = """
    overlap = Placeholder() {dtype=float32, shape=(?, 6, 6)}
    mask = Placeholder() {dtype=bool, shape=(?, 6, 6)}
    t = Const() {dtype=float32, value=float32()[THRESHOLD]}
    over = GreaterEqual(overlap, t) {T=float32}
    both = LogicalAnd(mask, over)
    factor = Cast(both) {SrcT=bool, DstT=float32}
    matrix = Mul(overlap, factor) {T=float32}
    axes = Const() {dtype=int32, value=int32(2)[1, 2]}
    total = Sum(matrix, axes) {T=float32, Tidx=int32}
    zero = Const() {dtype=int32, value=int32()[0]}
    true = Const() {dtype=bool, value=bool()[true]}
    w = StatelessWhile(zero, matrix, true, total, t) {T=[int32, float32, bool, float32, float32], cond=@go, body=@turn}
    def go(i: int32, m: float32, more: bool, s: float32, t: float32) -> (r: bool):
      return r=more
    def turn(i: int32, m: float32, more: bool, s: float32, t: float32) -> (i1: int32, m1: float32, more1: bool, s1: float32, t1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      zero = Const() {dtype=int32, value=int32()[0]}
      none = Const() {dtype=int32, value=int32()[-1]}
      first = Const() {dtype=int32, value=int32(1)[0]}
      second = Const() {dtype=int32, value=int32(1)[1]}
      axes = Const() {dtype=int32, value=int32(2)[1, 2]}
      shape = Shape(m) {T=float32, out_type=int32}
      images = StridedSlice(shape, first, second, second) {T=int32, Index=int32, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=1}
      column = Pack(images, none, one) {N=3, T=int32, axis=0}
      largest = Max(m, one) {T=float32, Tidx=int32}
      below = Less(largest, t) {T=float32}
      free = Reshape(below, column) {T=bool, Tshape=int32}
      free1 = Cast(free) {SrcT=bool, DstT=float32}
      by = Mul(free1, m) {T=float32}
      hit = Max(by, one) {T=float32, Tidx=int32}
      below1 = Less(hit, t) {T=float32}
      kept = Cast(below1) {SrcT=bool, DstT=float32}
      kept1 = Reshape(kept, column) {T=float32, Tshape=int32}
      m2 = Mul(kept1, m) {T=float32}
      s2 = Sum(m2, axes) {T=float32, Tidx=int32}
      fall = Sub(s, s2) {T=float32}
      falls = Greater(fall, t) {T=float32}
      any = Any(falls, first) {Tidx=int32}
      return i1=j, m1=m2, more1=any, s1=s2, t1=t
"""  # noqa: E501
FETCHES = ["w:0", "w:1", "w:2", "w:3"]
LATER = np.triu(np.ones((BOXES, BOXES), bool), 1)


def overlaps(*images, seed=0):
    """Matrices of random overlaps, or of those in `images`, by row and column."""
    made = np.random.default_rng(seed).random((len(images), BOXES, BOXES)).astype(np.float32)
    for matrix, known in zip(made, images, strict=True):
        for at, value in known.items():
            matrix[at] = value
    return made


def chain(step):
    """Each box overlaps with the next alone."""
    matrix = np.zeros((1, BOXES, BOXES), np.float32)
    for i in range(BOXES - 1):
        matrix[0, i, i + 1] = step
    return matrix


def suppression(overlap, *, threshold=0.5, mask=LATER, text=TEXT):
    masks = np.broadcast_to(mask, overlap.shape)
    text = text.replace("THRESHOLD", str(threshold))
    return graph_case(text, fetches=FETCHES, name="suppression", overlap=overlap, mask=masks)


INFINITE = np.inf
CASES = [
    suppression(overlaps({})), suppression(overlaps({}, {}, {}, seed=1), threshold=0.75),
    suppression(overlaps({}, {}, seed=2), threshold=0.9), suppression(overlaps(seed=3)),
    suppression(chain(0.75)), suppression(chain(0.5)), suppression(chain(0.625)),
    suppression(overlaps({(0, 1): 0.5, (1, 2): 0.5}), threshold=0.5),
    suppression(overlaps({(2, 4): np.nan})), suppression(overlaps({(4, 2): np.nan}, {})),
    suppression(overlaps({(0, 3): INFINITE})), suppression(overlaps({(0, 3): -INFINITE}, {})),
    suppression(overlaps({}, seed=4), mask=np.ones((BOXES, BOXES), bool)),
    suppression(overlaps({}, seed=5), threshold=0.0),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_suppression(c, ways):
    check("self_suppression", c, ways)


def products(text, threshold=0.5):
    """How many products of matrices the loops of a graph have."""
    program = session_of(text.replace("THRESHOLD", str(threshold))).program(FETCHES, ["overlap:0", "mask:0"])
    pending, found = [program], 0
    while pending:
        steps = pending.pop().steps
        pending += [inner for step in steps for inner in step.programs]
        found += sum(step.op == "MatMul" for step in steps)
    return found


def test_the_loop_is_recognized():
    assert products(TEXT) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("over = GreaterEqual", "over = Less"),
        ("below1 = Less", "below1 = LessEqual"),
        ("hit = Max(by, one)", "hit = Max(m, one)"),
        ("fall = Sub(s, s2)", "fall = Sub(s2, s)"),
        ("s2 = Sum(m2, axes)", "s2 = Sum(m, axes)"),
        ("total = Sum(matrix, axes)", "total = Sum(overlap, axes)"),
        ("Pack(images, none, one)", "Pack(one, none, images)"),
        ("LogicalAnd(mask, over)", "LogicalAnd(mask, mask)"),
    ],
)
def test_another_loop_is_left_as_it_is(old, new):
    assert old in TEXT
    assert products(TEXT.replace(old, new)) == 0


def test_a_threshold_of_zero_is_left_as_it_is():
    assert products(TEXT, threshold=0.0) == 0
