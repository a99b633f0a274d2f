"""Boxes that are suppressed class by class: copies of the same nodes, which become one loop."""

import numpy as np
import pytest
from tests.runtime.cases import check, checks, graph_case
from tests.runtime.programs import session_of

CLASSES = 9
HEAD = f"""
    boxes = Placeholder() {{dtype=float32, shape=(?, 4)}}
    scores = Placeholder() {{dtype=float32, shape=(?, {CLASSES})}}
    count = Const() {{dtype=int32, value=int32()[3]}}
"""
COPY = """
    begin# = Const() {dtype=int32, value=int32(2)[0, #]}
    size# = Const() {dtype=int32, value=int32(2)[-1, 1]}
    column# = Slice(scores, begin#, size#) {T=float32, Index=int32}
    all# = Const() {dtype=int32, value=int32(1)[-1]}
    flat# = Reshape(column#, all#) {T=float32, Tshape=int32}
    least# = Const() {dtype=float32, value=float32()[0.25]}
    above# = Greater(flat#, least#) {T=float32}
    where# = Where(above#) {T=bool}
    at# = Reshape(where#, all#) {T=int64, Tshape=int32}
    of# = Gather(boxes, at#) {Tparams=float32, Tindices=int64, validate_indices=true}
    by# = Gather(flat#, at#) {Tparams=float32, Tindices=int64, validate_indices=true}
    iou# = Const() {dtype=float32, value=float32()[0.5]}
    nms# = NonMaxSuppressionV2(of#, by#, count, iou#) {T=float32}
    box# = Gather(of#, nms#) {Tparams=float32, Tindices=int32, validate_indices=true}
    score# = Gather(by#, nms#) {Tparams=float32, Tindices=int32, validate_indices=true}
    zero# = ZerosLike(score#) {T=float32}
    number# = Const() {dtype=float32, value=float32()[#.0]}
    class# = AddV2(zero#, number#) {T=float32}
"""
TAIL = """
    axis = Const() {dtype=int32, value=int32()[0]}
"""
FETCHES = ["boxes_out:0", "scores_out:0", "classes_out:0"]


def joined(name, result, classes=CLASSES, kind="float32"):
    results = ", ".join(f"{result}{i}" for i in range(classes))
    return f"    {name} = ConcatV2({results}, axis) {{N={classes}, T={kind}, Tidx=int32}}\n"


def detector(classes=CLASSES, copy=COPY, head=HEAD):
    """A graph that suppresses boxes of each class."""
    copies = "".join(copy.replace("#", str(i)) for i in range(classes))
    ends = [("boxes_out", "box"), ("scores_out", "score"), ("classes_out", "class")]
    return head + copies + TAIL + "".join(joined(name, result, classes) for name, result in ends)


def in_function(text):
    """The same in a function that is called."""
    head, body = text.partition("    count =")[::2]
    types = "Tin=[float32, float32], Tout=[float32, float32, float32]"
    call = f"    r = PartitionedCall(boxes, scores) {{{types}, f=@all}}\n"
    results = "o0: float32, o1: float32, o2: float32"
    names = ("boxes_out", "scores_out", "classes_out")
    passed = "".join(f"    {name} = Identity(r:{i}) {{T=float32}}\n" for i, name in enumerate(names))
    inner = "".join(f"  {line}\n" for line in f"    count ={body}".splitlines())
    returned = ", ".join(f"o{i}={name}" for i, name in enumerate(names))
    return (
        f"{head}{call}{passed}    def all(boxes: float32, scores: float32) -> ({results}):\n"
        f"{inner}      return {returned}\n"
    )


def in_branch(text):
    """The same in one of two branches of TensorFlow 1."""
    head = """
    p = Placeholder() {dtype=bool, shape=()}
    given = Placeholder() {dtype=float32, shape=(?, 4)}
    graded = Placeholder() {dtype=float32, shape=(?, 9)}
    sb = Switch(given, p) {T=float32}
    ss = Switch(graded, p) {T=float32}
    boxes = Identity(sb:1) {T=float32}
    scores = Identity(ss:1) {T=float32}
    """
    tail = """
    negative = Neg(sb) {T=float32}
    boxes_merged = Merge(negative, boxes_out) {N=2, T=float32}
    lined = Const() {dtype=int32, value=int32(1)[-1]}
    line = Reshape(ss, lined) {T=float32, Tshape=int32}
    scores_merged = Merge(line, scores_out) {N=2, T=float32}
    classes_merged = Merge(line, classes_out) {N=2, T=float32}
    """
    return head + text[text.index("    count =") :] + tail


def image(boxes, *, seed=0, high=1.0):
    random = np.random.default_rng(seed)
    corners = random.random((boxes, 2)).astype(np.float32)
    sizes = random.random((boxes, 2)).astype(np.float32)
    scores = (random.random((boxes, CLASSES)) * high).astype(np.float32)
    return {"boxes": np.concatenate([corners, corners + sizes], 1), "scores": scores}


def unusual():
    found = image(12, seed=7)
    found["scores"][3, 2] = np.nan
    found["scores"][4, 2] = np.inf
    found["scores"][:, 5] = 0.75
    found["boxes"][6] = 0
    return found


def suppressed(text, **feeds):
    return graph_case(text, fetches=FETCHES, name="suppressed", **feeds)


def branched(taken):
    found = image(15, seed=6)
    feeds = {"p": np.array(taken), "given": found["boxes"], "graded": found["scores"]}
    fetches = ["boxes_merged:0", "scores_merged:0", "classes_merged:0"]
    return graph_case(in_branch(detector()), fetches=fetches, name="branched", **feeds)


SCALED = COPY.replace(
    "nms# = NonMaxSuppressionV2(of#,",
    "by_class# = Const() {dtype=float32, value=float32(4)[#.0, 1.0, #.5, 1.0]}\n"
    "    moved# = AddV2(of#, by_class#) {T=float32}\n    nms# = NonMaxSuppressionV2(moved#,",
)
CASES = [
    suppressed(detector(), **image(20)), suppressed(detector(), **image(1, seed=1)),
    suppressed(detector(), **image(30, seed=2, high=0.2)), suppressed(detector(), **image(0)),
    suppressed(detector(), **unusual()), suppressed(detector(), **image(40, seed=3, high=0.3)),
    suppressed(in_function(detector()), **image(20, seed=4)),
    suppressed(detector(copy=SCALED), **image(20, seed=5)),
    suppressed(detector().replace("Greater(flat0, least0)", "Greater(flat0, number1)"), **image(20, seed=8)),
    branched(True), branched(False),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_suppression_by_class(c, ways):
    check("repeated_loop", c, ways)


def loops(text, fed=(), fetches=FETCHES):
    """How many loops the program of a graph has."""
    program = session_of(text).program(fetches, ["boxes:0", "scores:0", *fed])
    return sum(step.op == "While" for step in program.steps)


def test_copies_become_a_loop():
    assert loops(detector()) == 1
    assert loops(in_function(detector())) == 1
    assert loops(detector(copy=SCALED)) == 1


def test_only_what_is_fetched_is_computed():
    session = session_of(detector())
    (step,) = [s for s in session.program(FETCHES[1:2], ["boxes:0", "scores:0"]).steps if s.op == "While"]
    assert len(step.outputs) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class3 = AddV2", "class3 = Sub"),
        ("score4 = Gather(by4,", "score4 = Gather(by3,"),
        ("zero5 = ZerosLike(score5)", "zero5 = ZerosLike(score0)"),
        ("all8 = Const() {dtype=int32, value=int32(1)[-1]}",
         "all8 = Const() {dtype=int32, value=int32(2)[-1, 1]}"),
        ("Gather(of6, nms6) {Tparams=float32, Tindices=int32, validate_indices=true}",
         "Gather(of6, nms6) {Tparams=float32, Tindices=int32, validate_indices=false}"),
        ("NonMaxSuppressionV2(of2, by2, count, iou2)", "NonMaxSuppressionV2(of2, by2, axis, iou2)"),
    ],
)  # fmt: skip
def test_copies_that_differ_in_more_than_constants_stay(old, new):
    assert old in detector()
    assert loops(detector().replace(old, new)) == 0


def test_copies_with_a_state_stay():
    drawn = (
        "drawn# = Shape(score#) {T=float32, out_type=int32}\n"
        "    zero# = RandomUniform(drawn#) {T=int32, dtype=float32, seed=1, seed2=2}"
    )
    assert loops(detector(copy=COPY.replace("zero# = ZerosLike(score#) {T=float32}", drawn))) == 0


def test_copies_of_which_more_is_read_stay():
    text = detector() + "    more = Neg(by5) {T=float32}\n"
    assert loops(text) == 1
    assert loops(text, fetches=[*FETCHES, "more:0"]) == 0
    assert loops(text, fetches=[*FETCHES, "nms7:0"]) == 0


def test_copies_without_suppression_stay():
    copy = COPY.replace("of#, nms#", "of#, first").replace("by#, nms#", "by#, first")
    first = "    first = Const() {dtype=int32, value=int32(1)[0]}\n"
    assert loops(detector(copy=copy, head=HEAD + first)) == 0


def test_few_copies_stay():
    assert loops(detector(classes=6)) == 1
    assert loops(detector(classes=5)) == 0


def test_a_fed_tensor_inside_is_used():
    feeds = {"boxes:0": np.zeros((2, 4), np.float32), "scores:0": np.ones((2, CLASSES), np.float32)}
    feeds["score3:0"] = np.array([5, 6, 7], np.float32)
    assert loops(detector(), ["score3:0"]) == 0
    (scores,) = session_of(detector()).run(["scores_out:0"], feeds)
    assert scores.tolist() == [1] * 6 + [5, 6, 7] + [1] * 10


def test_an_axis_that_is_computed():
    text = detector().replace(
        "axis = Const() {dtype=int32, value=int32()[0]}", "axis = Rank(empty) {T=float32}"
    )
    text = text.replace("    count =", "    empty = Placeholder() {dtype=float32}\n    count =", 1)
    assert loops(text, ["empty:0"]) == 0
