"""Sparse embedding lookups become one step, with exactly the same outputs as the separate ops."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.errors import RunFailed
from tfport.runtime.passes import pass_list

OTHERS = [name for name in pass_list.PROGRAM if name != "embedding_lookups"]
ROWS = 20
COMBINERS = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}


def constant(name, kind, value, shape=()):
    dims = "".join(f"{n}, " for n in shape).rstrip()
    flat = ", ".join(str(v) for v in np.reshape(value, -1).tolist())
    return f"{name} = Const() {{dtype={kind}, value={kind}({dims})[{flat}]}}\n"


def sources(count):
    """Sparse matrices that are fed."""
    return "".join(
        f"indices{i} = Placeholder() {{dtype=int64, shape=(?, 2)}}\n"
        f"ids{i} = Placeholder() {{dtype=int64, shape=(?)}}\n"
        f"shape{i} = Placeholder() {{dtype=int64, shape=(2)}}\n"
        for i in range(count)
    ) + "".join(
        [
            constant("zero", "int32", 0),
            constant("one", "int32", 1),
            constant("zeros1", "int32", [0], (1,)),
            constant("ones1", "int32", [1], (1,)),
            constant("flat", "int32", [-1], (1,)),
            constant("column", "int32", [-1, 1], (2,)),
            constant("begin", "int32", [0, 0], (2,)),
            constant("end", "int32", [0, 1], (2,)),
            constant("ones2", "int32", [1, 1], (2,)),
            constant("none", "int64", 0),
        ]
    )


def table(width, seed):
    return np.random.default_rng(seed).normal(size=(ROWS, width)).astype(np.float32)


def looked_up(n, indices, ids, combiner, width):
    """The lines of `tf.nn.embedding_lookup_sparse`."""
    masks = "begin_mask=1, end_mask=1, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=2"
    return f"""{constant(f"table{n}", "float32", table(width, n), (ROWS, width))}
    unique{n} = Unique({ids}) {{T=int64, out_idx=int32}}
    gathered{n} = GatherV2(table{n}, unique{n}, zero)
        {{Taxis=int32, Tindices=int64, Tparams=float32, batch_dims=0}}
    segments{n} = StridedSlice({indices}, begin, end, ones2) {{Index=int32, T=int64, {masks}}}
    plain{n} = {COMBINERS[combiner]}(gathered{n}, unique{n}:1, segments{n})
        {{T=float32, Tidx=int32, Tsegmentids=int64}}
    """.replace("\n        {", " {")


def safe(n, source, combiner, width, *, floor="none", default="none", chosen="chosen"):
    """The lines of `tf.nn.safe_embedding_lookup_sparse`; with a default, the `plain` part stays."""
    rows = "{Taxis=int32, Tindices=int64, Tparams=int64, batch_dims=0}"
    return f"""
    front{n} = Slice(shape{source}, zeros1, ones1) {{Index=int32, T=int64}}
    product{n} = Prod(front{n}, zeros1) {{T=int64, Tidx=int32, keep_dims=false}}
    last{n} = GatherV2(shape{source}, one, zero) {{Taxis=int32, Tindices=int32, Tparams=int64, batch_dims=0}}
    wanted{n} = Pack(product{n}, last{n}) {{N=2, T=int64, axis=0}}
    reshaped{n} = SparseReshape(indices{source}, shape{source}, wanted{n}) {{}}
    valid{n} = GreaterEqual(ids{source}, {floor}) {{T=int64}}
    where{n} = Where(valid{n}) {{T=bool}}
    kept{n} = Reshape(where{n}, flat) {{T=int64, Tshape=int32}}
    kept_indices{n} = GatherV2(reshaped{n}, kept{n}, zero) {rows}
    kept_ids{n} = GatherV2(ids{source}, kept{n}, zero) {rows}
    filled{n} = SparseFillEmptyRows(kept_indices{n}, kept_ids{n}, reshaped{n}:1, {default}) {{T=int64}}
    empty{n} = Reshape(filled{n}:2, column) {{T=bool, Tshape=int32}}
    {looked_up(n, f"filled{n}", f"filled{n}:1", combiner, width)}
    {constant(f"widths{n}", "int32", [1, width], (2,))}
    {constant(f"width{n}", "int32", [width], (1,))}
    tiled{n} = Tile(empty{n}, widths{n}) {{T=bool, Tmultiples=int32}}
    nought{n} = ZerosLike(plain{n}) {{T=float32}}
    chosen{n} = Select(tiled{n}, nought{n}, plain{n}) {{T=float32}}
    cast{n} = Cast(shape{source}) {{DstT=int32, SrcT=int64, Truncate=false}}
    rows{n} = Slice(cast{n}, zeros1, ones1) {{Index=int32, T=int32}}
    sizes{n} = ConcatV2(rows{n}, width{n}, zero) {{N=2, T=int32, Tidx=int32}}
    y{n} = Reshape({chosen}{n}, sizes{n}) {{T=float32, Tshape=int32}}
    """


def lines(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def sparse(rng, rows, columns, count, *, low=0, high=ROWS):
    """A sparse matrix of ids with its indices in order; rows may be empty, and ids may repeat."""
    places = np.sort(rng.choice(rows * columns, min(count, rows * columns), replace=False))
    indices = np.stack([places // columns, places % columns], 1).astype(np.int64).reshape(-1, 2)
    return indices, rng.integers(low, high, len(places)), np.array([rows, columns])


def fed(parts):
    return {f"{n}{i}": a for i, part in enumerate(parts) for n, a in zip(("indices", "ids", "shape"), part)}  # noqa: B905


def kinds(session):
    return [op for plan in session.plans.plans for op in plan.ops]


class Both:
    """The same graph with its lookups recognized, and without."""

    def __init__(self, text, fetches, monkeypatch, engine="onnxruntime"):
        self._fetches, self._patch = fetches, monkeypatch
        self.quick, self.plain = (session_of(lines(text), engine=engine) for _ in range(2))

    def same(self, parts):
        self.same_for(fed(parts))

    def same_for(self, feeds):
        got = self.quick.run(self._fetches, feeds)
        with self._patch.context() as patched:
            patched.setattr(pass_list, "PROGRAM", OTHERS)
            wanted = self.plain.run(self._fetches, feeds)
        assert "EmbeddingLookupSparse" not in kinds(self.plain)
        for array, other in zip(got, wanted, strict=True):
            assert array.dtype == other.dtype
            assert array.shape == other.shape
            assert array.tobytes() == other.tobytes()

    def both_fail(self, parts):
        feeds = fed(parts)
        with pytest.raises(RunFailed):
            self.quick.run(self._fetches, feeds)
        with self._patch.context() as patched:
            patched.setattr(pass_list, "PROGRAM", OTHERS)
            with pytest.raises(RunFailed):
                self.plain.run(self._fetches, feeds)


TWO = (
    sources(2) + safe(0, 0, "mean", 4) + safe(1, 0, "sum", 1) + safe(2, 1, "mean", 4) + safe(3, 1, "sqrtn", 3)
)
FETCHES = [f"y{n}:0" for n in range(4)]


@pytest.fixture(params=["onnxruntime", "none"])
def two(request, monkeypatch):
    return Both(TWO, FETCHES, monkeypatch, request.param)


def test_independent_lookups_are_one_step(two):
    rng = np.random.default_rng(0)
    two.same([sparse(rng, 3, 4, 6), sparse(rng, 3, 4, 6)])
    assert kinds(two.quick) == ["EmbeddingLookupSparse"]


@pytest.mark.parametrize("seed", range(8))
def test_random_matrices(two, seed):
    rng = np.random.default_rng(seed)
    rows = [1, 2, 8, 30][seed % 4]
    low = -3 if seed > 5 else 0
    for count in (0, 1, rows, 40 * rows):
        columns = 1 + count // rows
        two.same([sparse(rng, rows, columns, n, low=low) for n in (count, (count + 1) // 2)])


@pytest.mark.parametrize("rows", [[0, 1, 2], [1], [0, 2], [2], []])
def test_rows_with_at_most_one_id(two, rows):
    indices = np.array([[row, row % 2] for row in rows], np.int64).reshape(-1, 2)
    ids = np.array([7, 0, ROWS - 1][: len(rows)], np.int64)
    single = indices, ids, np.array([3, 2])
    two.same([single, single])
    two.same([single, sparse(np.random.default_rng(15), 3, 4, 6)])


def test_one_is_empty_and_the_other_is_not(two):
    rng = np.random.default_rng(3)
    two.same([sparse(rng, 4, 5, 0), sparse(rng, 4, 5, 9)])
    two.same([sparse(rng, 4, 5, 9), sparse(rng, 6, 1, 0)])
    two.same([sparse(rng, 4, 5, 0), (np.empty((0, 2), np.int64), np.empty(0, np.int64), np.array([4, 0]))])


def test_long_rows_are_summed_in_the_same_order(two):
    rng = np.random.default_rng(4)
    two.same([sparse(rng, 2, 1000, 1500), sparse(rng, 1, 300, 300)])


def test_an_empty_batch(two):
    nothing = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.array([0, 3])
    two.same([nothing, nothing])


def test_rows_that_are_not_in_order(two):
    rng = np.random.default_rng(5)
    indices, ids, shape = sparse(rng, 5, 4, 11)
    two.same([(indices[::-1].copy(), ids, shape), (indices, ids, shape)])


def test_an_index_outside_of_its_shape_gives_the_same_result(two):
    rng = np.random.default_rng(6)
    indices, ids, shape = sparse(rng, 5, 4, 11)
    beyond = indices.copy()
    beyond[2, 1] = 5  # the next row, as SparseReshape counts
    two.same([(beyond, ids, shape), (indices, ids, shape)])


@pytest.mark.parametrize("wrong", [ROWS, 1 << 40])
def test_an_id_outside_of_the_table(two, wrong):
    rng = np.random.default_rng(7)
    good = sparse(rng, 3, 4, 6)
    ids = good[1].copy()
    ids[-1] = wrong
    two.both_fail([good, (good[0], ids, good[2])])


def test_too_many_rows(two):
    good = sparse(np.random.default_rng(14), 3, 4, 6)
    two.both_fail([good, (*good[:2], np.array([1 << 55, 4]))])


@pytest.mark.parametrize("where", [(9, 0), (-1, 0)])
def test_a_row_outside_of_its_shape_gives_the_same_result(two, where):
    good = sparse(np.random.default_rng(8), 3, 4, 6)
    indices = good[0].copy()
    indices[-1] = where
    two.same([good, (indices, good[1], good[2])])


def test_lookups_of_hashed_words_are_recognized(monkeypatch):
    """As a column of `tf.feature_column` makes a sparse tensor of words."""
    words = """words = Placeholder() {dtype=string, shape=(?, ?)}
    no_word = Const() {dtype=string, value=string()[""]}
    present = NotEqual(words, no_word) {T=string, incompatible_shape_error=true}
    indices0 = Where(present) {T=bool}
    values = GatherNd(words, indices0) {Tindices=int64, Tparams=string}
    ids0 = StringToHashBucketFast(values) {num_buckets=20}
    shape0 = Shape(words) {T=string, out_type=int64}
    """
    text = words + "\n".join(sources(1).splitlines()[3:]) + safe(0, 0, "mean", 4)
    both = Both(text, ["y0:0"], monkeypatch)
    for feed in ([["a", "", "b"], ["", "", ""]], [[]], [["c"]]):
        array = np.array(feed, object).reshape(len(feed), -1)
        both.same_for({"words": array})
    assert "EmbeddingLookupSparse" in kinds(both.quick)
    assert "SparseReshape" not in kinds(both.quick)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_plain_lookups(combiner, monkeypatch):
    text = sources(1) + looked_up(0, "indices0", "ids0", combiner, 5)
    both = Both(text, ["plain0:0"], monkeypatch)
    rng = np.random.default_rng(9)
    for rows, count in ((1, 1), (7, 12), (7, 60), (3, 0)):
        both.same([sparse(rng, rows, 10, count)])
    assert kinds(both.quick) == ["EmbeddingLookupSparse"]
    indices, ids, shape = sparse(rng, 7, 10, 12)
    both.both_fail([(indices, np.full_like(ids, ROWS), shape)])
    both.both_fail([(indices[::-1].copy(), ids, shape)])
    both.both_fail([(indices, np.full_like(ids, -1), shape)])


@pytest.mark.parametrize("combiner", COMBINERS)
def test_rows_that_are_combined_without_gathering_them_first(combiner, monkeypatch):
    """As converters write it: the op that combines rows reads the table."""

    def joined(text):
        for n in range(2):
            text = text.replace(f"(gathered{n}, unique{n}:1, ", f"(table{n}, filled{n}:1, ")
        return text.replace("Tidx=int32, Tseg", "Tidx=int64, Tseg")

    both = Both(
        sources(2) + joined(safe(0, 0, combiner, 4) + safe(1, 1, combiner, 4)), FETCHES[:2], monkeypatch
    )
    rng = np.random.default_rng(4)
    for rows, count in ((1, 1), (7, 12), (7, 60), (3, 0)):
        both.same([sparse(rng, rows, 10, count), sparse(rng, rows, 10, count)])
    assert kinds(both.quick) == ["EmbeddingLookupSparse"]
    assert "Unique" not in kinds(both.plain)


def test_a_step_inside_of_a_lookup_can_be_fetched(monkeypatch):
    both = Both(TWO, [*FETCHES, "unique0:0", "filled1:2", "plain3:0"], monkeypatch)
    rng = np.random.default_rng(10)
    both.same([sparse(rng, 3, 4, 6), sparse(rng, 3, 4, 2)])
    assert "EmbeddingLookupSparse" in kinds(both.quick)


def test_a_lookup_that_depends_on_another_is_a_later_step(monkeypatch):
    text = sources(2) + safe(0, 0, "sum", 1)
    text += """
    more = Cast(y0) {DstT=int64, SrcT=float32, Truncate=false}
    row = Reshape(more, flat) {T=int64, Tshape=int32}
    ids9 = ZerosLike(row) {T=int64}
    """
    text += looked_up(5, "indices1", "ids9", "mean", 2) + safe(6, 1, "mean", 2)
    both = Both(text, ["y0:0", "plain5:0", "y6:0"], monkeypatch)
    rng = np.random.default_rng(11)
    square = np.stack([np.arange(4), np.zeros(4, int)], 1)
    both.same([sparse(rng, 4, 3, 5), (square, rng.integers(0, ROWS, 4), np.array([4, 1]))])
    assert kinds(both.quick).count("EmbeddingLookupSparse") == 2


def test_rows_without_ids_that_have_a_default(monkeypatch):
    text = sources(2) + constant("three", "int64", 3)
    text += safe(0, 0, "mean", 2, default="three", chosen="plain") + safe(1, 1, "mean", 2)
    text += safe(2, 1, "sqrtn", 3, default="three", chosen="plain")
    both = Both(text, ["y0:0", "y1:0", "y2:0"], monkeypatch)
    rng = np.random.default_rng(13)
    for counts in ((0, 0), (4, 0), (4, 7), (40, 3)):
        both.same([sparse(rng, 6, 9, count) for count in counts])
    assert kinds(both.quick) == ["EmbeddingLookupSparse"]


def test_a_filter_other_than_for_negative_ids_is_not_a_lookup(monkeypatch):
    text = sources(1) + constant("two", "int64", 2) + safe(0, 0, "sum", 2, floor="two")
    both = Both(text, ["y0:0"], monkeypatch)
    both.same([sparse(np.random.default_rng(12), 4, 3, 7)])
    assert "EmbeddingLookupSparse" not in kinds(both.quick)
