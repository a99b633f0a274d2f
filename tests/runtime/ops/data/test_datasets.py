"""Datasets inside one run: all their elements, batched into one tensor."""

from inspect import Parameter, signature

import numpy as np
import pytest
from tests.recorded_models import OPS
from tests.runtime.cases import check, checks, f32, graph_case, i32, i64, scalar, strings
from tests.runtime.ops.data.dataset_programs import FUNCTIONS, NUMBER, ONE_SHOT, PAIR, RANGE, VECTOR, program
from tests.runtime.ops.io.examples import example

from tfport.runtime.lower import CONTEXT, STRUCTURES


def all_of(text, *, types="int64", shapes="(?)", **options):
    """All elements of the dataset `d`, which have one shape."""
    count = types.count(",") + 1
    attrs = f"{{output_types=[{types}], output_shapes=[{shapes}]}}"
    outer = f"""
    batch = BatchDatasetV2(d, 1000L, false!) {attrs}
    y = DatasetToSingleElement(batch) {attrs}
    n = DatasetCardinality(d)
"""
    fetches = [f"y:{i}" for i in range(count)]
    return graph_case(program(outer + text), fetches=options.pop("fetches", [*fetches, "n:0"]), **options)


def counted(text, **options):
    """Only the number of elements."""
    return graph_case(program(f"\n    n = DatasetCardinality(d)\n{text}"), fetches="n:0", **options)


def taken(text, count=4, *, types="int64", shapes="()", **options):
    """The first elements of a dataset `d` through an iterator."""
    attrs = f"{{output_types=[{types}], output_shapes=[{shapes}]}}"
    lines = [
        f'    it = IteratorV2() {{shared_name="", container="", {attrs[1:]}',
        "    make = MakeIterator(d, it)",
    ]
    before = "make"
    for i in range(count):
        lines.append(f"    g{i} = IteratorGetNext(it, ^{before}) {attrs}")
        before = f"g{i}"
    width = types.count(",") + 1
    fetches = options.pop("fetches", None) or [f"g{i}:{k}" for i in range(count) for k in range(width)]
    return graph_case(program("\n".join(lines) + "\n" + text), fetches=fetches, **options)


ROWS = """
    a = Placeholder() {dtype=float32, shape=(?, 2)}
    s = Placeholder() {dtype=string, shape=(?)}
    d = TensorSliceDataset(a, s) {Toutput_types=[float32, string], output_shapes=[(2), ()]}
"""


def of_range(line, **options):
    return all_of(f"{RANGE}    d = {line} {{{NUMBER}}}", **options)


def with_functions(line, attrs="", **options):
    return all_of(f"{RANGE}    d = {line} {{{NUMBER}{attrs}}}{FUNCTIONS}", **options)


ONE = "Targuments=[int64]"
NONE = "Targuments=[]"
UNEVEN = "    t = TensorSliceDataset(v) {Toutput_types=[int64], output_shapes=[()]}\n"
LENGTHS = "    v = Placeholder() {dtype=int64, shape=(?)}\n" + UNEVEN


def interleaved(op, cycle, block, more="", attrs="", lengths=(3, 0, 4, 1, 2, 0, 0, 5), **options):
    line = f"    d = {op}(t, {cycle}L, {block}L{more}) {{f=@up_to, {NONE}, {NUMBER}{attrs}}}"
    return all_of(LENGTHS + line + FUNCTIONS, v=i64(*lengths), name=op, **options)


def shuffled(op, size, seeds, more="", attrs="", numbers=10, more_text="", **options):
    seeds = f", {seeds[0]}L, {seeds[1]}L" if seeds else ""
    text = f"    r = RangeDataset(0L, {numbers}L, 1L) {{{NUMBER}}}\n{more_text}"
    return all_of(f"{text}    d = {op}(r, {size}L{seeds}{more}) {{{NUMBER}{attrs}}}", name=op, **options)


RESHUFFLED = """
    rs = ShuffleDatasetV3(r, 4L, 3L, 5L, dummy) {NUMBER, reshuffle_each_iteration=HOW}
    dummy = DummySeedGenerator()
    d = RepeatDataset(rs, 3L) {NUMBER}
""".replace("NUMBER", NUMBER)

CASES = [
    all_of(
        ROWS, types="float32, string", shapes="(?, 2), (?)", a=np.arange(6, dtype=np.float32).reshape(3, 2),
        s=strings("a", "b", "c"),
    ),
    all_of(ROWS, types="float32, string", shapes="(?, 2), (?)", a=f32([1, 2]), s=strings("a", "b"),
           fails=True),
    all_of(
        "    d = TensorDataset(x) {Toutput_types=[int32], output_shapes=[(?)]}\n"
        "    x = Placeholder() {dtype=int32, shape=(?)}", types="int32", shapes="(?, ?)", x=i32(1, 2),
    ),
    all_of(
        "    d = TensorSliceDataset(x) {Toutput_types=[int32], output_shapes=[()]}\n"
        "    x = Placeholder() {dtype=int32}", types="int32", x=scalar(1), fails=True,
    ),
    *(all_of(f"    d = RangeDataset({a}L, {b}L, {c}L) {{{NUMBER}}}") for a, b, c in
      [(0, 5, 1), (2, 11, 3), (5, 0, -2), (3, 4, 10)]),
    all_of(f"    d = RangeDataset(0L, 5L, 0L) {{{NUMBER}}}", fails=True),
    all_of(f"    d = RangeDataset(5L, 5L, 1L) {{{NUMBER}}}", fails=True),
    counted(f"    d = RangeDataset(5L, 5L, 1L) {{{NUMBER}}}"),
    counted(f"    d = RangeDataset(5L, 0L, 1L) {{{NUMBER}}}"),
    all_of(
        "    d = RangeDataset(0L, 5L, 1L) {output_types=[float32], output_shapes=[()]}", types="float32"
    ),
    all_of("    d = RangeDataset(-2L, 2L, 1L) {output_types=[int32], output_shapes=[()]}", types="int32"),
    *(of_range(f"TakeDataset(r, {n}L)") for n in (1, 3, 10, 12, -1, -5)),
    of_range("TakeDataset(r, 0L)", fails=True),
    *(counted(f"{RANGE}    d = TakeDataset(r, {n}L) {{{NUMBER}}}") for n in (0, -1, 3)),
    *(of_range(f"SkipDataset(r, {n}L)") for n in (0, 3, 9)),
    of_range("SkipDataset(r, 10L)", fails=True),
    of_range("SkipDataset(r, -1L)", fails=True),
    *(counted(f"{RANGE}    d = SkipDataset(r, {n}L) {{{NUMBER}}}") for n in (-1, 20)),
    *(of_range(f"RepeatDataset(r, {n}L)") for n in (1, 3)),
    of_range("RepeatDataset(r, 0L)", fails=True),
    counted(f"{RANGE}    d = RepeatDataset(r, -1L) {{{NUMBER}}}"),
    counted(f"{RANGE}    e = SkipDataset(r, -1L) {{{NUMBER}}}\n    d = RepeatDataset(e, -1L) {{{NUMBER}}}"),
    all_of(
        f"{RANGE}    i = RepeatDataset(r, -1L) {{{NUMBER}}}\n    d = TakeDataset(i, 23L) {{{NUMBER}}}"
    ),
    all_of(f"{RANGE}    e = SkipDataset(r, -1L) {{{NUMBER}}}\n    d = RepeatDataset(e, -1L) {{{NUMBER}}}",
           fails=True),
    all_of(f"{RANGE}    e = TakeDataset(r, 2L) {{{NUMBER}}}\n    d = ConcatenateDataset(r, e) {{{NUMBER}}}"),
    all_of(
        f"{RANGE}    e = SkipDataset(r, 5L) {{{NUMBER}}}\n    d = ZipDataset(r, e) {{{PAIR}, N=2}}",
        types="int64, int64", shapes="(?), (?)",
    ),
    counted(
        f"{RANGE}    i = RepeatDataset(r, -1L) {{{NUMBER}}}\n    d = ZipDataset(i, i) {{{PAIR}, N=2}}"
    ),
    *(of_range(f"ShardDataset(r, {n}L, {i}L)") for n, i in [(3, 0), (3, 2), (1, 0), (10, 9)]),
    of_range("ShardDataset(r, 3L, 3L)", fails=True),
    of_range("ShardDataset(r, 0L, 0L)", fails=True),
    of_range("ShardDataset(r, 11L, 10L)", fails=True),
    all_of(f"{RANGE}    d = ShardDataset(r, 11L, 1L) {{{NUMBER}, require_non_empty=true}}", fails=True),
    *(
        all_of(f"{RANGE}    d = {op} {{{VECTOR}}}", shapes="(?, ?)")
        for op in ("BatchDataset(r, 5L)", "BatchDatasetV2(r, 5L, false!)", "BatchDatasetV2(r, 4L, true!)",
                   "BatchDatasetV2(r, 100L, false!)", "ParallelBatchDataset(r, 3L, 2L, true!)")
    ),
    all_of(f"{RANGE}    d = BatchDatasetV2(r, 4L, false!) {{{VECTOR}}}", shapes="(?, ?)", fails=True),
    counted(f"{RANGE}    d = BatchDatasetV2(r, 4L, false!) {{{VECTOR}}}"),
    all_of(f"{RANGE}    d = BatchDataset(r, 0L) {{{VECTOR}}}", shapes="(?, ?)", fails=True),
    all_of(f"{RANGE}    b = BatchDatasetV2(r, 4L, false!) {{{VECTOR}}}\n"
           f"    d = UnbatchDataset(b) {{{NUMBER}}}"),
    of_range("UnbatchDataset(r)", fails=True),
    of_range("PrefetchDataset(r, 2L)"),
    of_range("PrefetchDataset(r, -1L)"),
    of_range("PrefetchDataset(r, -3L)", fails=True),
    of_range("ModelDataset(r)"),
    all_of(f'{RANGE}    d = OptionsDataset(r) {{{NUMBER}, serialized_options=""}}'),
    of_range("MaxIntraOpParallelismDataset(r, 1L)"),
    of_range("PrivateThreadPoolDataset(r, 1L)"),
    of_range("AssertCardinalityDataset(r, 10L)"),
    of_range("AssertCardinalityDataset(r, 9L)", fails=True),
    of_range("AssertCardinalityDataset(r, 11L)", fails=True),
    *(
        all_of(f'{RANGE}    none = Const() {{dtype=string, value=string()[""]}}\n{text}')
        for text in (
            f"    c = CacheDataset(r, none) {{{NUMBER}}}\n    d = RepeatDataset(c, 2L) {{{NUMBER}}}",
            f"    c = CacheDatasetV2(r, none, m) {{{NUMBER}}}\n    m = AnonymousMemoryCache()\n"
            f"    d = RepeatDataset(c, 2L) {{{NUMBER}}}",
            f"    c = CacheDatasetV2(r, none, m) {{{NUMBER}}}\n    m = DummyMemoryCache()\n"
            f"    d = RepeatDataset(c, 2L) {{{NUMBER}}}",
        )
    ),
    with_functions("MapDataset(r)", f", f=@square, {NONE}"),
    with_functions("MapDataset(r)", f", f=@square, {NONE}, preserve_cardinality=true"),
    with_functions("MapDataset(r, 5L)", f", f=@add, {ONE}"),
    with_functions("ParallelMapDatasetV2(r, 5L, 2L)", f", f=@add, {ONE}"),
    with_functions("ParallelMapDatasetV2(r, 5L, -1L)", f', f=@add, {ONE}, deterministic="false"'),
    with_functions("ParallelMapDatasetV2(r, 5L, 0L)", f", f=@add, {ONE}", fails=True),
    with_functions("MapDataset(r)", f", f=@divided, {NONE}", fails=True),
    all_of(
        f"{RANGE}    m = MapDataset(r) {{{NUMBER}, f=@divided, {NONE}}}\n"
        f"    d = IgnoreErrorsDataset(m) {{{NUMBER}}}{FUNCTIONS}"
    ),
    with_functions("FilterDataset(r, 4L)", f", predicate=@less, {ONE}"),
    with_functions("ParallelFilterDataset(r, 4L, 2L)", f", predicate=@less, {ONE}"),
    with_functions("FilterDataset(r)", f", predicate=@square, {NONE}", fails=True),
    with_functions("TakeWhileDataset(r, 4L)", f", predicate=@less, {ONE}"),
    with_functions("FlatMapDataset(r)", f", f=@up_to, {NONE}"),
    with_functions("FlatMapDataset(r)", f", f=@square, {NONE}", fails=True),
    with_functions("ScanDataset(r, 1L)", f", f=@both, Tstate=[int64], {NONE}"),
    all_of(
        f"{RANGE}    d = MapAndBatchDataset(r, 5L, 2L, 1L, false!) {{{VECTOR}, f=@add, {ONE}}}{FUNCTIONS}",
        shapes="(?, ?)",
    ),
    *(interleaved("InterleaveDataset", c, b) for c in (1, 2, 3, 20) for b in (1, 2)),
    interleaved("InterleaveDataset", 0, 1, fails=True),
    interleaved("InterleaveDataset", 1, 0, fails=True),
    *(interleaved("ParallelInterleaveDatasetV2", c, b, ", 2L") for c in (2, 3) for b in (1, 2)),
    *(interleaved("ParallelInterleaveDatasetV3", c, b, ", 2L") for c in (2, 20) for b in (1, 3)),
    *(interleaved("ParallelInterleaveDatasetV4", c, b, ", 1L, 2L, 2L") for c in (2, 3, 20) for b in (1, 2)),
    all_of(
        f"{RANGE}    d = GroupByWindowDataset(r) {{{NUMBER}, key_func=@third, reduce_func=@all_of,"
        " window_size_func=@two, Tkey_func_other_arguments=[], Treduce_func_other_arguments=[],"
        f" Twindow_size_func_other_arguments=[]}}{FUNCTIONS}"
    ),
    all_of(
        f"{RANGE}    d = GroupByReducerDataset(r) {{{NUMBER}, key_func=@third, init_func=@init,"
        " reduce_func=@add, finalize_func=@square, Tkey_func_other_arguments=[],"
        " Tinit_func_other_arguments=[], Treduce_func_other_arguments=[],"
        f" Tfinalize_func_other_arguments=[]}}{FUNCTIONS}"
    ),
    all_of(
        f"{LENGTHS}    z = RangeDataset(100L, 103L, 1L) {{{NUMBER}}}\n"
        f"    r2 = RangeDataset(0L, 10L, 1L) {{{NUMBER}}}\n"
        f"    d = DirectedInterleaveDataset(t, z, r2) {{{NUMBER}, N=2}}",
        v=i64(0, 1, 1, 0, 0, 0, 0, 1),
    ),
    all_of(
        f"{LENGTHS}    z = RangeDataset(100L, 103L, 1L) {{{NUMBER}}}\n"
        f"    r2 = RangeDataset(0L, 10L, 1L) {{{NUMBER}}}\n"
        f"    d = DirectedInterleaveDataset(t, z, r2) {{{NUMBER}, N=2, stop_on_empty_dataset=true}}",
        v=i64(0, 1, 1, 0, 0, 0, 0, 1),
    ),
    all_of(f"{LENGTHS}    d = UniqueDataset(t) {{{NUMBER}}}", v=i64(3, 1, 3, 2, 1)),
    *(
        all_of(
            f"{RANGE}    w = WindowDataset(r, {size}L, {shift}L, {stride}L, {drop}!)"
            f" {{output_types=[variant], output_shapes=[()]}}\n"
            f"    d = FlatMapDataset(w) {{{VECTOR}, f=@padded, {NONE}}}\n"
            "    def padded(window: variant) -> (y: variant):\n"
            f"      made = PaddedBatchDatasetV2(window, 20L, rest, -1L, false!) {{Toutput_types=[int64], N=1,"
            " output_shapes=[(?)]}\n"
            "      rest = Const() {dtype=int64, value=int64(0,)[]}\n"
            "      return y=made",
            shapes="(?, ?)",
        )
        for size, shift, stride, drop in [(2, 2, 1, "false"), (3, 1, 2, "true"), (2, 3, 1, "true"),
                                          (5, 5, 1, "true"), (1, 4, 1, "false")]
    ),
    *(
        counted(f"{RANGE}    d = WindowDataset(r, {size}L, {shift}L, {stride}L, {drop}!)"
                " {output_types=[variant], output_shapes=[()]}")
        for size in (2, 3, 12) for shift in (1, 4) for stride in (1, 3) for drop in ("true", "false")
    ),
    counted(
        f"{RANGE}    d = WindowDataset(r, 0L, 1L, 1L, true!) {{output_types=[variant], output_shapes=[()]}}",
        fails=True,
    ),
    *(shuffled("ShuffleDataset", size, (7, 9), attrs=f", reshuffle_each_iteration={how}")
      for size in (1, 3, 10, 50) for how in ("true", "false")),
    shuffled("ShuffleDataset", 3, (0, 9)),
    shuffled("ShuffleDataset", 100, (1, 2), numbers=300),
    shuffled("ShuffleDataset", 0, (1, 2), fails=True),
    all_of(
        f"{RANGE}    g = AnonymousSeedGenerator(3L, 4L, true!)\n"
        f"    d = ShuffleDatasetV2(r, 4L, g) {{{NUMBER}}}",
    ),
    all_of(f"{RANGE}    g = AnonymousSeedGenerator(3L, 4L, true!)\n"
           f"    d = ShuffleDatasetV3(r, 4L, 1L, 2L, g) {{{NUMBER}}}"),
    all_of(RANGE + RESHUFFLED.replace("HOW", "true")),
    all_of(RANGE + RESHUFFLED.replace("HOW", "false")),
    *(shuffled("ShuffleAndRepeatDataset", size, (7, 9), f", {count}L")
      for size in (1, 3, 15, 50, 100) for count in (1, 4, 7)),
    shuffled("ShuffleAndRepeatDataset", 3, (7, 9), ", 0L", fails=True),
    all_of(
        f"    i = RandomDataset(3L, 4L) {{{NUMBER}}}\n    d = TakeDataset(i, 9L) {{{NUMBER}}}"
    ),
    all_of(
        f"    i = RandomDatasetV2(3L, 4L, g) {{{NUMBER}}}\n    g = AnonymousSeedGenerator(5L, 6L, true!)\n"
        f"    d = TakeDataset(i, 9L) {{{NUMBER}}}"
    ),
    all_of(
        f"    i = RandomDatasetV2(3L, 4L, g) {{{NUMBER}, rerandomize_each_iteration=true}}\n"
        f"    g = DummySeedGenerator()\n    j = TakeDataset(i, 3L) {{{NUMBER}}}\n"
        f"    d = RepeatDataset(j, 3L) {{{NUMBER}}}"
    ),
    taken(RANGE.replace("r =", "d =")),
    taken(RANGE.replace("r =", "d ="), 11, fails=True),
    taken(RANGE.replace("r =", "d ="), types="int32", fails=True),
    taken(RANGE.replace("r =", "d ="), shapes="(3)", fails=True),
    taken(ROWS, 2, types="float32, string", shapes="(2), ()", a=np.ones((3, 2), np.float32),
          s=strings("a", "", "c")),
]  # fmt: skip
SPARSE = """
    i = Placeholder() {dtype=int64, shape=(?, 2)}
    v = Placeholder() {dtype=float32, shape=(?)}
    s = Placeholder() {dtype=int64, shape=(2)}
    d = SparseTensorSliceDataset(i, v, s) {Tvalues=float32}
"""
SUM = f"""
{RANGE}
    y = ReduceDataset(r, 7L, 2L) {{f=@add3, Tstate=[int64], Targuments=[int64], {NUMBER}}}
"""
SINGLE = f"""
    d = RangeDataset(4L, 5L, 1L) {{{NUMBER}}}
    y = DatasetToSingleElement(d) {{output_types=[int64], output_shapes=[SHAPE]}}
"""
OPTIONAL = f"""
    r = RangeDataset(0L, 1L, 1L) {{{NUMBER}}}
    it = AnonymousIteratorV3() {{{NUMBER}}}
    make = MakeIterator(r, it)
    o = IteratorGetNextAsOptional(it, ^make) {{{NUMBER}}}
    has = OptionalHasValue(o)
    x = OptionalGetValue(o) {{{NUMBER}}}
    p = IteratorGetNextAsOptional(it, ^x) {{{NUMBER}}}
    none = OptionalHasValue(p)
    dev = IteratorGetDevice(it)
"""
TABLE = """
    k = Placeholder() {dtype=string, shape=(?)}
    v = Placeholder() {dtype=int64, shape=(?)}
    d = TensorSliceDataset(k, v) {Toutput_types=[string, int64], output_shapes=[(), ()]}
    t = HashTableV2() {key_dtype=string, value_dtype=int64}
    init = InitializeTableFromDataset(t, d)
    y = LookupTableFindV2(t, k, n, ^init) {Tin=string, Tout=int64}
    n = Const() {dtype=int64, value=int64()[-1]}
    size = LookupTableSizeV2(t, ^init)
"""
PADDED = """
    l = Placeholder() {dtype=int64, shape=(?)}
    t = TensorSliceDataset(l) {Toutput_types=[int64], output_shapes=[()]}
    m = MapDataset(t) {f=@count, Targuments=[], output_types=[int64], output_shapes=[(?)]}
    d = PaddedBatchDatasetV2(m, 3L, to, -1L, DROP!) {Toutput_types=[int64], output_shapes=[(?, ?)], N=1}
    to = Const() {dtype=int64, value=int64(1,)[TO]}
    def count(n: int64) -> (y: int64):
      z = Range(0L, n, 1L) {Tidx=int64}
      return y=z
"""


SPARSED = """
    l = Placeholder() {dtype=int64, shape=(?)}
    t = TensorSliceDataset(l) {Toutput_types=[int64], output_shapes=[()]}
    m = MapDataset(t) {f=@count, Targuments=[], output_types=[int64], output_shapes=[(?)]}
    d = DenseToSparseBatchDataset(m, 3L, to) {output_types=[variant], output_shapes=[(?, ?)]}
    to = Const() {dtype=int64, value=int64(1,)[-1]}
    p = DeserializeSparse(g0) {Tserialized=variant, dtype=int64}
    q = DeserializeSparse(g1) {Tserialized=variant, dtype=int64}
    def count(n: int64) -> (y: int64):
      z = Range(0L, n, 1L) {Tidx=int64}
      return y=z
"""
SPARSE_PARTS = [f"{node}:{i}" for node in "pq" for i in range(3)]
EXAMPLES = """
    x = Placeholder() {dtype=string, shape=(?)}
    t = TensorDataset(x) {Toutput_types=[string], output_shapes=[(?)]}
    default = Const() {dtype=float32, value=float32(1,)[0.5]}
    d = ParseExampleDatasetV2(t, 1L, default) {sparse_keys=["b"], dense_keys=["a"], sparse_types=[int64],
 Tdense=[float32], dense_shapes=[(1)], ragged_keys=["c"], ragged_value_types=[string],
 ragged_split_types=[int32], output_types=[float32, variant, variant], output_shapes=[(?, 1), (?), ()]}
    sp = DeserializeSparse(g0:1) {Tserialized=variant, dtype=int64}
    rg = RaggedTensorFromVariant(g0:2) {input_ragged_rank=1, output_ragged_rank=1, Tvalues=string,
 Tsplits=int32}
""".replace(",\n ", ", ")
WRITTEN = [
    example(a=[1.5], b=[1, 2], c=[b"x"]), example(b=[3]), example(a=[2.5], c=[b"y", b"", b"z"]),
]  # fmt: skip


def padded(*lengths, to=-1, drop="false", count=2, **options):
    text = PADDED.replace("DROP", drop).replace("TO", str(to))
    return taken(text, count, shapes="(?, ?)", l=i64(*lengths), name="PaddedBatch", **options)


CASES += [
    taken(SPARSE, 3, types="int64, float32, int64", shapes="(?, 1), (?), (1)", i=i64([0, 1], [2, 0], [2, 3]),
          v=f32(1, 2, 3), s=i64(3, 4)),
    taken(SPARSE, 3, types="int64, float32, int64", shapes="(?, 1), (?), (1)", i=i64([2, 1], [0, 0]),
          v=f32(1, 2), s=i64(3, 4), fails=True),
    counted(SPARSE, i=i64([0, 1]), v=f32(1), s=i64(5, 4)),
    graph_case(program(SUM + FUNCTIONS), fetches="y:0"),
    graph_case(program(SUM.replace("[()]}\n", "[(3)]}\n").replace("y = Red", "y2 = Red") + FUNCTIONS),
               fetches="y2:0", fails=True),
    graph_case(program(SINGLE.replace("SHAPE", "()")), fetches="y:0"),
    graph_case(program(SINGLE.replace("SHAPE", "(3)")), fetches="y:0", fails=True),
    graph_case(program(OPTIONAL), fetches=["has:0", "x:0", "none:0", "dev:0"]),
    graph_case(program(ONE_SHOT), fetches=["a:0", "b:0", "c:0"]),
    graph_case(TABLE, fetches=["y:0", "size:0"], k=strings("a", "b"), v=i64(1, 2)),
    graph_case(TABLE, fetches=["y:0", "size:0"], k=strings("a", "a"), v=i64(1, 1)),
    graph_case(TABLE, fetches=["y:0", "size:0"], k=strings("a", "a"), v=i64(1, 2), fails=True),
    graph_case(TABLE, fetches=["y:0", "size:0"], k=strings(), v=i64(), fails=True),
    *(interleaved("ParallelInterleaveDataset", c, b, ", false!, 1L, 1L") for c, b in [(2, 1), (3, 2)]),
    *(interleaved("LegacyParallelInterleaveDatasetV2", c, b, ", 1L, 1L") for c, b in [(2, 1), (3, 2)]),
    with_functions("ExperimentalScanDataset(r, 1L)", f", f=@both, Tstate=[int64], {NONE}"),
    with_functions("ExperimentalTakeWhileDataset(r, 4L)", f", predicate=@less, {ONE}"),
    all_of(
        f"{RANGE}    i = Const() {{dtype=int32, value=int32()[2]}}\n"
        f"    d = ParallelMapDataset(r, 5L, i) {{{NUMBER}, f=@add, {ONE}}}{FUNCTIONS}"
    ),
    graph_case(program(f"{RANGE}    n = ExperimentalDatasetCardinality(r)"), fetches="n:0"),
    all_of(f"    a = Const() {{dtype=int64, value=int64()[4]}}\n"
           f"    d = ListDataset(a, a, a) {{Tinput_types=[int64, int64, int64], {NUMBER}}}"),
    all_of(  # a batch of what differs in shape
        f"{RANGE}    d = MapDataset(r) {{f=@count, {NONE}, output_types=[int64], output_shapes=[(?)]}}\n"
        + PADDED[PADDED.index("    def count"):], shapes="(?, ?)", fails=True,
    ),
    taken(SPARSED, 2, types="variant", shapes="(...)", name="DenseToSparseBatch", fetches=SPARSE_PARTS,
          l=i64(1, 3, 0, 2)),
    taken(SPARSED.replace("[-1]", "[2]"), 2, types="variant", shapes="(...)", fetches=SPARSE_PARTS,
          l=i64(1, 3, 0, 2), fails=True),
    taken(EXAMPLES, 1, types="float32, variant, variant", shapes="(?, 1), (?), ()", name="ParseExample",
          fetches=["g0:0", "sp:0", "sp:1", "sp:2", "rg:0", "rg:1"], x=strings(*WRITTEN)),
    taken(EXAMPLES, 1, types="float32, variant, variant", shapes="(?, 1), (?), ()",
          fetches=["g0:0"], x=strings(*WRITTEN, b"\x0a\x05ab"), fails=True),
    padded(1, 3, 0, 2),
    all_of(
        ROWS.replace("d =", "t =")
        + "    d = PaddedBatchDataset(t, 2L, two, rest, zero, dot) {Toutput_types=[float32, string],"
        " output_shapes=[(?, ?), (?)], N=2}\n    two = Const() {dtype=int64, value=int64(1,)[3]}\n"
        "    rest = Const() {dtype=int64, value=int64(0,)[]}\n"
        "    zero = Const() {dtype=float32, value=float32()[0.5]}\n"
        '    dot = Const() {dtype=string, value=string()["."]}',
        types="float32, string", shapes="(?, ?, ?), (?, ?)", a=np.ones((4, 2), np.float32),
        s=strings("a", "", "c", "d"),
    ),
    padded(1, 3, 0, 2, to=4),
    padded(1, 3, 0, 2, to=2, fails=True),
    padded(1, 3, 0, 2, 2, drop="true", count=1),
    padded(1, 3, 0, 2, 2, drop="true", count=2, fails=True),
]  # fmt: skip
NONE_OF_THEM = """    none = Const() {dtype=string, value=string(0,)[]}
    tag = Const() {dtype=string, value=string()["t"]}
"""
OLD_ITERATOR = f"""
{RANGE}    it = OP
    make = MakeIterator(r, it)
    x = IteratorGetNext(it, ^make) {{{NUMBER}}}
    name = IteratorToStringHandle(it)
    again = IteratorFromStringHandle(name) {{{NUMBER}}}
    y = IteratorGetNext(again, ^x) {{{NUMBER}}}
    dev = ExperimentalIteratorGetDevice(it)
"""
CASES += [
    *(
        all_of(f"{RANGE}{NONE_OF_THEM}    d = {line} {{{NUMBER}}}")
        for line in (
            "OptimizeDataset(r, none)",
            "OptimizeDatasetV2(r, none, none, none)",
            "SleepDataset(r, 1L)",
            "LatencyStatsDataset(r, tag)",
            "BytesProducedStatsDataset(r, tag)",
            "NonSerializableDataset(r)",
            "ExperimentalUniqueDataset(r)",
            "ExperimentalIgnoreErrorsDataset(r)",
            "ExperimentalMaxIntraOpParallelismDataset(r, 1L)",
            "ExperimentalPrivateThreadPoolDataset(r, 1L)",
        )
    ),
    shuffled("ShuffleAndRepeatDatasetV2", 3, (7, 9), ", 3L, g", more_text="    g = DummySeedGenerator()\n"),
    graph_case(
        program(OLD_ITERATOR.replace("OP", f'Iterator() {{shared_name="i", container="", {NUMBER}}}')),
        fetches=["x:0", "y:0", "dev:0"],
    ),
    graph_case(
        program(
            OLD_ITERATOR.replace("OP", f"AnonymousIteratorV2() {{{NUMBER}}}")
            + "    gone = DeleteIterator(it, it:1, ^y, ^dev)\n"
        ),
        fetches=["x:0", "y:0", "gone"],
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_datasets(c, ways):
    check("datasets", c, ways)


def test_ops_on_datasets_name_their_inputs_as_they_are_defined():
    count = 0
    for op, (entry,) in STRUCTURES.all().items():
        declared = getattr(entry.function, "args", None)
        if not declared:
            continue
        count += 1
        parameters = signature(declared[0].function).parameters.values()
        positional = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        expected = [arg.name for arg in OPS.get(op).inputs]
        if positional[-1:] == ["setting"]:  # one function for ops that call it differently
            positional[-1] = expected[-1]
        assert positional == expected, op
        needed = {
            p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY and p.default is Parameter.empty
        }
        assert needed - {CONTEXT} <= set(OPS.get(op).attr_types), op
    assert count > 70
