"""Lists of ragged rows as lists of plain tensors: rows are split from the values, and concatenated again."""

import pytest
from tests.recorded_models import graph
from tests.runtime.cases import f32, i64

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.ragged_variants import rows_as_elements
from tfport.fix.structure.tensor_lists import lists_to_arrays
from tfport.graph.build import graph_to_def

OLDEST = NodeChecker(resolve_targets("tensorflow==1.4.1")[0], 24)
VARIANTS = "element_dtype=variant"
TYPES = "Tvalues=float32, Tsplits=SPLITS"
MAP = f"""
    s = Placeholder() {{dtype=SPLITS, shape=(?)}}
    v = Placeholder() {{dtype=float32, shape=VALUES}}
    scalar = Const() {{dtype=int32, value=int32(0)[]}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    from = Const() {{dtype=int32, value=int32(1)[0]}}
    until = Const() {{dtype=int32, value=int32(1)[1]}}
    b = RaggedTensorToVariant(s, v) {{RAGGED_RANK=1, {TYPES}, batched_input=true}}
    same = Identity(b) {{T=variant}}
    shape = Shape(same) {{T=variant, out_type=int32}}
    n = StridedSlice(shape, from, until, until) {{T=int32, Index=int32, shrink_axis_mask=1}}
    l = TensorListFromTensor(same, scalar) {{{VARIANTS}, shape_type=int32}}
    r = TensorListReserve(scalar, n) {{{VARIANTS}, shape_type=int32}}
    w = StatelessWhile(zero, n, l, r) {{T=[int32, int32, variant, variant], cond=@go, body=@turn, SHAPES}}
    k = TensorListStack(w:3, scalar) {{{VARIANTS}}}
    u = RaggedTensorFromVariant(k) {{input_ragged_rank=-1, output_ragged_rank=1, {TYPES}}}
    size = TensorListLength(w:3)
    def go(i: int32, n: int32, l: variant, r: variant) -> (go: bool):
      less = Less(i, n) {{T=int32}}
      return go=less
    def turn(i: int32, n: int32, l: variant, r: variant) -> (j: int32, m: int32, g: variant, t: variant):
      one = Const() {{dtype=int32, value=int32()[1]}}
      shape = Const() {{dtype=int32, value=int32(0)[]}}
      next = Add(i, one) {{T=int32}}
      item = TensorListGetItem(l, i, shape) {{{VARIANTS}}}
      row = RaggedTensorFromVariant(item) {{input_ragged_rank=-1, output_ragged_rank=0, {TYPES}}}
      square = Mul(row, row) {{T=float32}}
      twice = ConcatV2(square, row, zero) {{T=float32, N=2, Tidx=int32, _output_shapes=[VALUES]}}
      zero = Const() {{dtype=int32, value=int32()[0]}}
      pack = RaggedTensorToVariant(twice) {{RAGGED_RANK=0, {TYPES}, batched_input=false}}
      set = TensorListSetItem(r, i, pack) {{{VARIANTS}}}
      return j=next, m=n, g=l, t=set
"""
MAP = MAP.replace("SHAPES", "output_shapes=[(), (), (), ()]")
ROWS = i64(0, 2, 2, 5)


def program(splits="int64", values="(?)"):
    return graph(MAP.replace("SPLITS", splits).replace("VALUES", values))


def answers(made, feeds):
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    return [(array.dtype, array.tolist()) for array in session.run(["u:0", "u:1", "size:0"], feeds)]


@pytest.mark.parametrize(
    ("splits", "values", "rows", "numbers"),
    [
        ("int64", "(?)", ROWS, f32(1, 2, 3, 4, 5)),
        ("int32", "(?)", ROWS.astype("int32"), f32(1, 2, 3, 4, 5)),
        ("int64", "(?, 2)", i64(0, 1, 3), f32([1, 2], [3, 4], [5, 6])),
        ("int64", "(?)", i64(0, 0), f32()),
        ("int64", "(?)", i64(0), f32()),
    ],
)
def test_a_map_over_rows(splits, values, rows, numbers):
    feeds = {"s:0": rows, "v:0": numbers}
    made = program(splits, values)
    before = answers(made, feeds)
    lower_all(made)
    changed = rows_as_elements(made, Facts(), OLDEST)
    lists_to_arrays(made)
    assert sorted(op for _, op in changed) == ["RaggedTensorFromVariant"] * 2 + ["RaggedTensorToVariant"] * 2
    assert answers(made, feeds) == before
    assert not any(value.dtype.name == "variant" for node in made for value in node.inputs)
    assert not [node.op for node in made if OLDEST.unresolved(node)]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("size = TensorListLength(w:3)", "size = ZerosLike(k) {T=variant}", ["u", "w/body/pack"]),
        ("TensorListSetItem(r, i, pack)", "TensorListSetItem(r, i, item)", ["b", "u", "w/body/row"]),
        ("(s, v) {RAGGED_RANK=1", "(s, s, v) {RAGGED_RANK=2", ["b", "w/body/row"]),
    ],
)
def test_other_lists_stay(old, new, kept):
    made = graph(MAP.replace("SPLITS", "int64").replace("VALUES", "(?)").replace(old, new))
    lower_all(made)
    rows_as_elements(made, Facts(), OLDEST)
    assert set(kept) <= {node.name for node in made if "Ragged" in node.op}
