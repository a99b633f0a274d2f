"""Lookup table ops, and tables of saved models, which are initialized when a session is created."""

import base64
import json
import threading

import numpy as np
import pytest
from tests.recorded_models import graph, load
from tests.runtime.cases import check, checks, f32, f64, graph_case, i32, i64, scalar, strings

import tfport
from tfport.formats.files import Folder
from tfport.graph.build import graph_to_def

FEEDS = """
    keys = Placeholder() {{dtype={key}}}
    values = Placeholder() {{dtype={value}}}
    asked = Placeholder() {{dtype={key}}}
    default = Placeholder() {{dtype={value}}}
"""
TYPES = "key_dtype={key}, value_dtype={value}"
FIND = "{{Tin={key}, Tout={value}}}"
STATIC = (
    FEEDS
    + f"""
    t = HashTableV2() {{{{{TYPES}}}}}
    init = InitializeTableV2(t, keys, values) {{{{Tkey={{key}}, Tval={{value}}}}}}
    y = LookupTableFindV2(t, asked, default, ^init) {FIND}
    n = LookupTableSizeV2(t, ^init)
"""
)
AGAIN = (
    STATIC
    + """
    init2 = InitializeTableV2(t, asked, asked, ^init) {{Tkey={key}, Tval={value}}}
    y2 = LookupTableFindV2(t, asked, default, ^init2) {{Tin={key}, Tout={value}}}
"""
)
EMPTY = (
    FEEDS
    + f"""
    t = HashTableV2() {{{{{TYPES}}}}}
    y = LookupTableFindV2(t, asked, default) {FIND}
    n = LookupTableSizeV2(t)
    insert = LookupTableInsertV2(t, keys, values) {FIND}
    e = LookupTableExportV2(t) {{{{Tkeys={{key}}, Tvalues={{value}}}}}}
"""
)
OLD = (
    FEEDS
    + f"""
    t = HashTable() {{{{{TYPES}}}}}
    init = InitializeTable(t, keys, values) {{{{Tkey={{key}}, Tval={{value}}}}}}
    y = LookupTableFind(t, asked, default, ^init) {FIND}
    n = LookupTableSize(t, ^init)
    e = LookupTableExport(t, ^init) {{{{Tkeys={{key}}, Tvalues={{value}}}}}}
"""
)
SHARED = (
    FEEDS
    + f"""
    t = HashTableV2() {{{{{TYPES}, shared_name="one"}}}}
    u = HashTableV2() {{{{{TYPES}, shared_name="one"}}}}
    init = LookupTableImportV2(t, keys, values) {FIND}
    y = LookupTableFindV2(u, asked, default, ^init) {FIND}
    n = LookupTableSizeV2(u, ^init)
"""
)
MADE = {
    "MutableHashTableV2": "",
    "MutableHashTableOfTensorsV2": ", value_shape={shape}",
    "MutableHashTable": "",
    "MutableHashTableOfTensors": ", value_shape={shape}",
    "AnonymousMutableHashTable": "",
    "AnonymousMutableHashTableOfTensors": ", value_shape={shape}",
    "MutableDenseHashTable": ", value_shape={shape}",
    "MutableDenseHashTableV2": ", value_shape={shape}",
    "AnonymousMutableDenseHashTable": ", value_shape={shape}",
}


def mutable(op, key, value, shape="()", **feeds):
    """Insert, overwrite, remove one key, look up, export and import."""
    v2 = "" if op in ("MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable") else "V2"
    dense = "Dense" in op
    special = ("empty", "deleted")[: 1 if op == "MutableDenseHashTable" else 2] if dense else ()
    text = FEEDS + "".join(f"\n    {name} = Placeholder() {{{{dtype={{key}}}}}}" for name in special)
    text += f"""
    t = {op}({", ".join(special)}) {{{{{TYPES}{MADE[op]}}}}}
    in1 = LookupTableInsert{v2}(t, keys, values) {FIND}
    y1 = LookupTableFind{v2}(t, asked, default, ^in1) {FIND}
    n1 = LookupTableSize{v2}(t, ^in1)
    """
    fetches = ["y1:0", "n1:0"]
    if v2:
        text += f"""
    out = LookupTableRemoveV2(t, asked, ^y1, ^n1) {{{{Tin={{key}}}}}}
    y2 = LookupTableFindV2(t, keys, default, ^out) {FIND}
    n2 = LookupTableSizeV2(t, ^out)
    in2 = LookupTableInsertV2(t, keys, values, ^y2, ^n2) {FIND}
    n3 = LookupTableSizeV2(t, ^in2)
        """
        fetches += ["y2:0", "n2:0", "n3:0"]
    if v2 and not dense:
        text += f"""
    in3 = LookupTableImportV2(t, asked, y1, ^n3) {FIND}
    y4 = LookupTableFindV2(t, asked, default, ^in3) {FIND}
        """
        fetches.append("y4:0")
    return graph_case(text.format(key=key, value=value, shape=shape), fetches=fetches, name=op, **feeds)


def of(text, key, value, fetches, name="HashTableV2", **options):
    return graph_case(text.format(key=key, value=value), fetches=fetches, name=name, **options)


def static(keys, values, asked, default, fetches=("y:0", "n:0"), text=STATIC, **options):
    kinds = [str(a.dtype) if a.dtype != object else "string" for a in (keys, values)]
    options = {"keys": keys, "values": values, "asked": asked, "default": default, **options}
    return of(text, *kinds, list(fetches), **options)


def string_scalar(text):
    return strings(text).reshape(())


WORDS, NUMBERS = strings("a", "b", "c"), i64(1, 2, 3)
ASKED = strings(["c", "x"], ["", "a"])
BACK = {"keys": NUMBERS, "values": WORDS, "asked": i64(3, 9, 1), "default": string_scalar("?")}
MANY = np.arange(100, 400, 3)
TO_NUMBERS = {
    "keys": WORDS,
    "values": i64(1, 2, 3),
    "asked": strings("b", "x"),
    "default": scalar(-1, np.int64),
}
TO_ROWS = {
    "keys": i64(1, 2, 3),
    "values": f32([1, 2], [3, 4], [5, 6]),
    "asked": i64(3, 8),
    "default": f32(0, 9),
}
DENSE = {"empty": scalar(-1, np.int64), "deleted": scalar(-2, np.int64)}

CASES = [
    static(WORDS, NUMBERS, ASKED, scalar(-1, np.int64)),
    static(NUMBERS, WORDS, i64([3, 9], [1, 0]), string_scalar("?")),
    *(static(WORDS, NUMBERS, string_scalar(word), scalar(-1, np.int64)) for word in ("a", "nowhere")),
    static(NUMBERS, WORDS, np.arange(-20, 20), string_scalar("?")),
    static(MANY, MANY * 2, np.arange(90, 410), scalar(-1, np.int64)),
    static(NUMBERS, f32(0.5, 1, 2), i64(2, 7), scalar(np.nan, np.float32)),
    static(i32(1, -2), i32(5, 6), i32(-2, 0), scalar(-1, np.int32)),
    static(i32(1, -2), f64(5, 6), i32(-2, 0), scalar(-1, np.float64)),
    static(WORDS, strings("x", "y", "z"), strings("a", "q"), string_scalar("")),
    static(WORDS, np.array([True, False, True]), strings("a", "q"), scalar(False, np.bool_)),
    static(WORDS[:0], NUMBERS[:0], ASKED, scalar(-1, np.int64), fails=True),
    static(WORDS, NUMBERS, np.zeros((0, 2), object), scalar(-1, np.int64)),
    static(strings("a", "b", "a"), i64(1, 2, 1), strings("a"), scalar(-1, np.int64)),
    static(strings("a", "b", "a"), i64(1, 2, 3), strings("a"), scalar(-1, np.int64), fails=True),
    static(WORDS, NUMBERS[:2], ASKED, scalar(-1, np.int64), fails=True),
    static(WORDS.reshape(1, 3), NUMBERS.reshape(1, 3), ASKED, scalar(-1, np.int64), fails=True),
    static(WORDS, NUMBERS, ASKED, i64(-1), fails=True),
    static(WORDS, NUMBERS, ASKED, i64([-1, -2], [-3, -4])),
    static(NUMBERS, NUMBERS, i64(5, 6, 7), scalar(-1, np.int64), ("y2:0",), AGAIN),
    static(NUMBERS, NUMBERS, i64(5, 6), scalar(-1, np.int64), ("y2:0",), AGAIN, fails=True),
    static(
        WORDS, NUMBERS, ASKED, scalar(-1, np.int64), ("y:0",), EMPTY, name="LookupTableFindV2", fails=True
    ),
    static(WORDS, NUMBERS, ASKED, scalar(-1, np.int64), ("n:0",), EMPTY, name="LookupTableSizeV2"),
    static(
        WORDS,
        NUMBERS,
        ASKED,
        scalar(-1, np.int64),
        ("insert",),
        EMPTY,
        name="LookupTableInsertV2",
        fails=True,
    ),
    static(
        WORDS, NUMBERS, ASKED, scalar(-1, np.int64), ("e:0",), EMPTY, name="LookupTableExportV2", fails=True
    ),
    static(WORDS, NUMBERS, ASKED, scalar(-1, np.int64), text=OLD),
    static(WORDS[:1], NUMBERS[:1], ASKED, scalar(-1, np.int64), ("e:0", "e:1"), text=OLD),
    static(WORDS, NUMBERS, ASKED, scalar(-1, np.int64), text=SHARED),
    static(
        WORDS,
        NUMBERS,
        ASKED,
        scalar(-1, np.int64),
        text=STATIC.replace("HashTableV2(", "AnonymousHashTable("),
    ),
    static(
        WORDS,
        NUMBERS,
        ASKED,
        scalar(-1, np.int64),
        text=OLD.replace("InitializeTable(", "LookupTableImport(").replace(
            "{{Tkey={key}, Tval={value}}}", FIND
        ),
    ),
    static(WORDS.reshape(3, 1), NUMBERS.reshape(3, 1), ASKED, scalar(-1, np.int64), text=SHARED),
    mutable("MutableHashTableV2", "string", "int64", **TO_NUMBERS),
    mutable("MutableHashTableV2", "string", "int64", **{**TO_NUMBERS, "default": i64(7, 8)}, fails=True),
    mutable(
        "MutableHashTableV2", "string", "int64", **{**TO_NUMBERS, "asked": WORDS, "default": i64(7, 8, 9)}
    ),
    mutable("MutableHashTableV2", "int64", "string", **BACK),
    mutable("MutableHashTableV2", "string", "int64", **{**TO_NUMBERS, "keys": strings("a", "b", "a")}),
    mutable("MutableHashTableV2", "string", "int64", **{**TO_NUMBERS, "values": i64(1, 2)}, fails=True),
    mutable("MutableHashTable", "string", "int64", **TO_NUMBERS),
    mutable("AnonymousMutableHashTable", "string", "int64", **TO_NUMBERS),
    *(
        mutable(op, "int64", "float32", "(2)", **TO_ROWS)
        for op in MADE
        if op.endswith(("Tensors", "TensorsV2"))
    ),
    mutable("MutableHashTableOfTensorsV2", "int64", "float32", "()", **TO_ROWS, fails=True),
    mutable(
        "MutableHashTableOfTensorsV2",
        "int64",
        "float32",
        "(2)",
        **{**TO_ROWS, "asked": i64(3, 8, 9), "default": f32([1, 2], [3, 4], [5, 6])},
    ),
    *(mutable(op, "int64", "float32", "(2)", **TO_ROWS, **DENSE) for op in list(MADE)[-2:]),
    mutable(
        "MutableDenseHashTableV2",
        "int64",
        "float32",
        "(2)",
        **{**TO_ROWS, "asked": i64(-1)},
        **DENSE,
        fails=True,
    ),
    mutable(
        "MutableDenseHashTableV2",
        "int64",
        "float32",
        "(2)",
        **{**TO_ROWS, "keys": i64(1, 2, -2)},
        **DENSE,
        fails=True,
    ),
    mutable(
        "MutableDenseHashTableV2",
        "int64",
        "float32",
        "(2)",
        **TO_ROWS,
        empty=i64(1)[0],
        deleted=i64(1)[0],
        fails=True,
    ),
    mutable(
        "MutableDenseHashTableV2",
        "int64",
        "int64",
        keys=i64([1, 2], [3, 4]),
        values=i64(5, 6),
        asked=i64([3, 4], [1, 9]),
        default=scalar(-1, np.int64),
        empty=i64(0, 0),
        deleted=i64(-1, -1),
    ),
]


IMPORTED = (
    FEEDS
    + f"""
    empty = Const() {{{{dtype=int64, value=int64()[-1]}}}}
    deleted = Const() {{{{dtype=int64, value=int64()[-2]}}}}
    t = MutableDenseHashTableV2(empty, deleted) {{{{{TYPES}, value_shape=({{size}}), initial_num_buckets=4}}}}
    in = LookupTableImportV2(t, keys, values) {FIND}
    y = LookupTableFindV2(t, asked, default, ^in) {FIND}
    n = LookupTableSizeV2(t, ^in)
"""
)


def imported(keys, values, asked, default, size="", **options):
    text = IMPORTED.format(key="int64", value="int64", size=size)
    feeds = {"keys": keys, "values": values, "asked": asked, "default": default}
    return graph_case(text, fetches=["y:0", "n:0"], name="LookupTableImportV2", **feeds, **options)


LOCKED = """
    x = Placeholder() {dtype=string}
    m = MutexV2() {shared_name="lock"}
    l = MutexLock(m)
    c = ConsumeMutexLock(l)
    y = StringStrip(x, ^c)
    l2 = MutexLock(m, ^c)
    c2 = ConsumeMutexLock(l2)
    z = StringStrip(x, ^c2)
"""

CASES += [
    graph_case(LOCKED, fetches=["y:0", "z:0"], name="MutexLock", x=strings(" a ")),
    imported(i64([-1], [5], [6], [-2]), i64([0], [50], [60], [1]), i64(5, 6, 7), scalar(9, np.int64)),
    imported(i64([-1], [5], [6], [-1]), i64([0, 0], [5, 1], [6, 1], [1, 1]), i64(5, 7), i64(8, 9), "2"),
    imported(
        i64([-1], [5], [6], [-1]), i64([0, 0], [5, 1], [6, 1], [1, 1]), i64(5, 7), i64([8, 9], [1, 2]), "2"
    ),
    imported(i64(-1, 5, 6, -1), i64(0, 50, 60, 0), i64(5, 6, 7), scalar(9, np.int64), fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_tables(c, ways):
    check("tables", c, ways)


def test_a_dense_table_of_version_1():
    """TensorFlow 2.21 registers this op but fails to create the table; earlier releases create it."""
    types = "key_dtype=int64, value_dtype=int64, value_shape=()"
    text = f"""
    k = Const() {{dtype=int64, value=int64(2,)[1, 2]}}
    empty = Const() {{dtype=int64, value=int64()[-1]}}
    t = MutableDenseHashTable(empty) {{{types}}}
    in = LookupTableInsert(t, k, k) {{Tin=int64, Tout=int64}}
    y = LookupTableFind(t, k, empty, ^in) {{Tin=int64, Tout=int64}}
    """
    assert session(text).run("y:0").tolist() == [1, 2]


def session(text, files=None):
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    if files is not None:
        model.files = Folder(files)
    return tfport.Session(model)


FROM_FILE = """
    name = Placeholder() {{dtype=string, shape=()}}
    asked = Placeholder() {{dtype={key}}}
    default = Placeholder() {{dtype={value}}}
    t = HashTableV2() {{key_dtype={key}, value_dtype={value}}}
    init = InitializeTableFromTextFileV2(t, name) {{key_index={at}, value_index={value_at}{more}}}
    y = LookupTableFindV2(t, asked, default, ^init) {{Tin={key}, Tout={value}}}
    n = LookupTableSizeV2(t, ^init)
"""
LINES, NUMBERED = ("string", -2), ("int64", -1)
# file, key, value, other attributes, contents of the table in TensorFlow 2.21; None if it fails
CONTENTS = [
    (b"a\nb\nc\n", LINES, NUMBERED, "", {b"a": 0, b"b": 1, b"c": 2}),
    (b"a\nb\nc", LINES, NUMBERED, "", {b"a": 0, b"b": 1, b"c": 2}),
    (b"a\r\nb\r\n", LINES, NUMBERED, "", {b"a": 0, b"b": 1}),
    (b"a\rb\n", LINES, NUMBERED, "", {b"a\rb": 0}),
    (b"a\n\r", LINES, NUMBERED, "", {b"a": 0}),
    (b"a\n\nb\n", LINES, NUMBERED, "", None),
    (b"a\nb\n\n", LINES, NUMBERED, "", None),
    (b"\r\na\n", LINES, NUMBERED, "", None),
    (b"", LINES, NUMBERED, "", None),
    (b"\n", LINES, NUMBERED, "", None),
    (b"a\nb\nc\n", LINES, NUMBERED, ", vocab_size=2", {b"a": 0, b"b": 1}),
    (b"a\nb\n\nc\n", LINES, NUMBERED, ", vocab_size=2", {b"a": 0, b"b": 1}),
    (b"a\nb\nc\n", LINES, NUMBERED, ", vocab_size=3", {b"a": 0, b"b": 1, b"c": 2}),
    (b"a\nb\nc\n", LINES, NUMBERED, ", vocab_size=4", None),
    (b"a\nb\na\n", LINES, NUMBERED, "", None),
    (b"a\nb\n", LINES, NUMBERED, ", offset=10", {b"a": 10, b"b": 11}),
    (b"a\nb\n", LINES, ("int32", -1), "", None),
    (b"a\nb\n", NUMBERED, LINES, "", {0: b"a", 1: b"b"}),
    (b"a\nb\n", LINES, LINES, "", {b"a": b"a", b"b": b"b"}),
    (b"5\n6\n", ("int64", -2), NUMBERED, "", {5: 0, 6: 1}),
    (b"a\t1\nb\t2\n", ("string", 0), ("int64", 1), "", {b"a": 1, b"b": 2}),
    (b"a,1\nb,2\n", ("string", 0), ("int64", 1), ', delimiter=","', {b"a": 1, b"b": 2}),
    (b"a\t1\nb\n", ("string", 0), ("int64", 1), "", None),
    (b"a\tx\n", ("string", 0), ("int64", 1), "", None),
    (b"1\t2.5\n", ("int64", 0), ("float32", 1), "", {1: 2.5}),
    (b"a\t1\t\nb\t2\t3\n", ("string", 2), ("int64", 1), "", {b"": 1, b"3": 2}),
    (b"a\t1\n", LINES, NUMBERED, "", {b"a\t1": 0}),
    (b"a\nb\n", ("string", 0), NUMBERED, ', delimiter=""', None),
]


@pytest.mark.parametrize(("data", "key", "value", "more", "expected"), CONTENTS)
def test_a_table_is_filled_from_a_file(tmp_path, data, key, value, more, expected):
    (tmp_path / "words.txt").write_bytes(data)
    text = FROM_FILE.format(key=key[0], value=value[0], at=key[1], value_at=value[1], more=more)
    feeds = {
        "name": b"words.txt",
        "asked": list(expected or []),
        "default": b"" if value[0] == "string" else 0,
    }
    if expected is None:
        with pytest.raises(tfport.Error):
            session(text, tmp_path).run("n:0", {"name": b"words.txt"})
    else:
        y, n = session(text, tmp_path).run(["y:0", "n:0"], feeds)
        assert (y.tolist(), n) == (list(expected.values()), len(expected))


def test_tables_of_a_saved_model_are_initialized_from_assets():
    answer = tfport.Session(load("table_from_file")).signature("serving_default")
    (values,) = answer(args_0=np.array([b"gamma", b"none", b"alpha"], object)).values()
    assert values.tolist() == [2, -1, 0]


def test_tables_of_a_saved_model_are_restored():
    """Two static tables; a mutable and a dense table restored from the checkpoint."""
    answer = tfport.Session(load("tables_in_memory")).signature("serving_default")
    ids, mutable, packed = answer(args_0=np.array([b"a", b"\xff", b"b"], object)).values()
    assert ids.tolist() == [1, 3, 2]
    assert mutable.tolist() == [0.5, -1.0, 0.25]
    assert packed.tolist() == [0, 30, 0]


def test_lookups_and_insertions_from_many_threads():
    text = """
    k = Placeholder() {dtype=int64}
    d = Const() {dtype=int64, value=int64()[-1]}
    t = MutableHashTableV2() {key_dtype=int64, value_dtype=int64}
    in = LookupTableInsertV2(t, k, k) {Tin=int64, Tout=int64}
    y = LookupTableFindV2(t, k, d) {Tin=int64, Tout=int64}
    n = LookupTableSizeV2(t)
    """
    ours, wrong = session(text), []

    def work(start):
        for i in range(20):
            keys = np.arange(start + 50 * i, start + 50 * i + 50)
            ours.run("in", {"k": keys})
            values = ours.run("y:0", {"k": keys})
            wrong.extend(values[values != keys])

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert ours.run("n:0") == 4000


def test_an_estimator_parses_examples_and_looks_up_words():
    """Scores are a dense layer of x (weights and biases 0, 1, 2 …) and the sum of all words' numbers."""
    ours = tfport.Session(load("estimator", ["serve"]))
    rows = [json_example("beta", [1.0, 2.0]), json_example("gamma", [0.0, 0.5])]
    answer = ours.signature("predict")(examples=np.array(rows, object))
    dense = np.array([[1, 2], [0, 0.5]]) @ np.arange(6).reshape(2, 3) + np.arange(3)
    assert answer["scores"].tolist() == (dense + 3).tolist()
    assert answer["words"].tolist() == [[b"%f" % score for score in row] for row in (dense + 3).tolist()]
    classes = ours.signature("serving_default")(inputs=np.array(rows, object))
    assert classes["classes"].tolist() == answer["words"].tolist()


def json_example(word, x):
    text = {
        "word": {"bytesList": {"value": [base64.b64encode(word.encode()).decode()]}},
        "x": {"floatList": {"value": x}},
    }
    made = session("j = Placeholder() {dtype=string}\n    y = DecodeJSONExample(j)")
    return made.run("y:0", {"j": json.dumps({"features": {"feature": text}}).encode()}).item()


def test_words_of_a_saved_model(capsys):
    answer = tfport.Session(load("strings")).signature("serving_default")
    values = answer(lines=np.array([b"Hello World!", b"a b  c", b""], object))
    assert values["buckets"].tolist() == [96, 98, 39, 22, 72]
    assert values["lengths"].tolist() == [5, 5, 1, 1, 1]
    assert values["joined"].tolist() == ["hello·world".encode(), "a·b·c".encode(), b""]
    assert values["bytes"].tolist() == [0, 255, 1]


def test_a_legacy_init_op_runs():
    ours = tfport.Session(load("legacy_init"))
    assert ours.run("counter:0") == 1
    assert ours.signature("serving_default")(x=np.ones((1, 2), np.float32))["y"].tolist() == [[2.0, 5.0]]
