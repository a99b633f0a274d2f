"""`tfport.batch`: columns to inputs, outputs to columns, rows that fail."""

import numpy as np
import pyarrow as pa
import pytest
from tests.batch.models import (
    DOUBLES,
    FOUR_ROWS,
    NO_ROWS,
    ONE_ROW,
    PAIRS,
    PARSES,
    SCALED,
    SMALL,
    SUM,
    UPPER,
    model_bytes,
)
from tests.recorded_models import path_of

import tfport


def scored(text, table, /, **options):
    rest = {"cache": False, **options}
    return tfport.batch(model_bytes(text), **rest)(pa.record_batch(table)).to_pydict()


F32 = pa.float32()
COLUMNS = [  # model, column x, column y
    (PAIRS, pa.array([[1, 2], [3, 4]], pa.list_(pa.float64())), [[2, 4], [6, 8]]),
    (PAIRS, pa.array([[1, 2], [3, 4]], pa.list_(F32, 2)), [[2, 4], [6, 8]]),
    (PAIRS, pa.array([[1, 2], [3, 4]], pa.large_list(pa.int64())), [[2, 4], [6, 8]]),
    (PAIRS, pa.array([[9, 9], [1, 2], [3, 4]], pa.list_(F32)).slice(1), [[2, 4], [6, 8]]),
    (PAIRS, pa.array([[9, 9], [1, 2], [3, 4]], pa.list_(F32, 2)).slice(1), [[2, 4], [6, 8]]),
    (DOUBLES, pa.array([[1], [2, 3], [4], []], pa.list_(F32)), [[2], [4, 6], [8], []]),
    (SMALL, pa.array([1, 2], pa.int64()), [2, 4]),
    (PARSES, pa.array(["1", "2.5"]), [1, 2.5]),
    (PARSES, pa.array([b"1", b"2.5"]), [1, 2.5]),
    (PARSES, pa.array(["1", "1", "2"]).dictionary_encode(), [1, 1, 2]),
    (UPPER, pa.array(["a", "é"]), ["A", "é"]),
    (ONE_ROW, pa.array([[1, 2], [3, 4]], pa.list_(F32)), [[2, 4], [6, 8]]),
    (FOUR_ROWS, pa.array([[i, i] for i in range(6)], pa.list_(F32)), [[2 * i, 2 * i] for i in range(6)]),
    (NO_ROWS, pa.array([[1, 2], [3, 4]], pa.list_(F32)), [[2, 4], [6, 8]]),
    (PAIRS, pa.array([], pa.list_(F32)), []),
]


@pytest.mark.parametrize(("text", "column", "expected"), COLUMNS)
def test_a_column_feeds_an_input(text, column, expected):
    assert scored(text, {"x": column}) == {"y": expected}


def test_tensors_of_a_fixed_shape_and_flat_lists_are_rows():
    images = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    text = PAIRS.replace("(?, 2)", "(?, 2, 3)")
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(images)
    flat = pa.array(images.reshape(2, 6).tolist(), pa.list_(F32))
    nested = pa.array(images.tolist(), pa.list_(pa.list_(F32)))
    for column in (tensors, flat, nested):
        assert scored(text, {"x": column})["y"] == (2 * images).tolist()


def test_outputs_have_the_types_of_the_model():
    score = tfport.batch(model_bytes(PAIRS), cache=False, on_error="collect")
    batch = pa.record_batch({"id": pa.array([7], pa.int16()), "x": pa.array([[1, 2]], pa.list_(F32))})
    expected = pa.schema([("id", pa.int16()), ("y", pa.list_(F32)), ("error", pa.string())])
    assert score(batch).schema == score.schema(batch.schema) == expected


def test_columns_that_the_model_does_not_read_are_kept_or_those_that_are_named():
    columns = {"id": [7], "x": pa.array([[1, 2]], pa.list_(F32)), "z": ["a"]}
    assert list(scored(PAIRS, columns)) == ["id", "z", "y"]
    assert list(scored(PAIRS, columns, keep=["x"])) == ["x", "y"]
    assert list(scored(PAIRS, columns, keep=[])) == ["y"]


def test_other_names_and_scalar_columns_that_make_a_vector():
    columns = {"a": [1, 2], "b": [3.0, 4.0]}
    assert scored(PAIRS, columns, columns={"x": ["a", "b"]})["y"] == [[2, 6], [4, 8]]
    assert scored(PARSES, {"text": ["3"]}, columns={"x": "text"})["y"] == [3]


def test_an_input_can_have_the_same_value_for_all_rows():
    assert scored(SCALED, {"x": [1.0, 2.0]}, constants={"factor": 3})["y"] == [3, 6]


def test_bytes_stay_bytes_where_that_is_asked():
    assert scored(UPPER, {"x": [b"\xffa"]}, binary="y")["y"] == [b"\xffA"]


ROWS = [  # model, column x, failing rows
    (PAIRS, [[1, 2], None, [3, 4]], {1: "column `x` is null"}),
    (PAIRS, [[1, 2], [None, 3], [3, 4]], {1: "column `x` has a null inside"}),
    (PAIRS, [[1, 2], [1, 2, 3], [3, 4]], {1: "column `x` has 3 values, but input `x` has shape (?, 2)"}),
    (PAIRS, [[1], [2]], dict.fromkeys((0, 1), "column `x` has 1 value, but input `x` has shape (?, 2)")),
    (SMALL, [1, 200, 3], {1: "column `x` has 200, but input `x` takes -128 to 127"}),
    (PARSES, ["1", "two", "3"], {1: "two"}),
    (PARSES, ["1", None, "3", "four"], {1: "column `x` is null", 3: "four"}),
    (UPPER, [b"a", b"\xff"], {1: "output `y` is not UTF-8 text; ask for bytes with binary=['y'] (--binary)"}),
]


@pytest.mark.parametrize(("text", "rows", "failing"), ROWS)
def test_a_row_that_fails_is_named_and_the_others_are_scored(text, rows, failing):
    collected = scored(text, {"x": rows}, on_error="collect")
    assert {i for i, why in enumerate(collected["error"]) if why} == set(failing)
    assert all(why in collected["error"][i] for i, why in failing.items())
    nulls = scored(text, {"x": rows}, on_error="null")["y"]
    assert [i for i, y in enumerate(nulls) if y is None] == sorted(failing)
    assert nulls == collected["y"]
    first = min(failing)
    with pytest.raises(tfport.Error, match=f"row {first}: ") as raised:
        scored(text, {"x": rows})
    assert failing[first] in str(raised.value)


def test_lists_of_different_lengths_in_one_row():
    rows = [[[1, 2], [3, 4]], [[1], [3, 4]]]
    text = DOUBLES.replace("(?, ?)", "(?, ?, ?)")
    result = scored(text, {"x": rows}, on_error="collect")
    assert result["y"] == [[[2, 4], [6, 8]], None]
    assert result["error"][1] == "column `x` has lists of different lengths in one row"


def test_a_failing_row_among_many_costs_a_search_not_a_run_of_each():
    score = tfport.batch(model_bytes(PARSES), cache=False, on_error="null", batch_rows=256)
    calls, run = [], score.session.run
    score.session.run = lambda fetches, feeds: calls.append(1) or run(fetches, feeds)
    texts = [str(i) for i in range(1024)]
    texts[700] = "seven hundred"
    result = score(pa.record_batch({"x": texts})).column("y").to_pylist()
    assert [i for i, y in enumerate(result) if y is None] == [700]
    assert result[701] == 701
    assert len(calls) < 4 + 2 * 9


TABLES = [  # model, columns, options, error
    (PAIRS, {"y": [1], "z": [2]}, {}, "no column `x`; columns: y, z; inputs: x (float32 (?, 2))"),
    (PAIRS, {"x": ["a"]}, {}, "column `x` has the type string, but input `x` is float32 (?, 2)"),
    (SMALL, {"x": [1.5]}, {}, "column `x` has the type double, but input `x` is int8 (?,)"),
    (PARSES, {"x": [1]}, {}, "column `x` has the type int64, but input `x` is string (?,)"),
    (PAIRS, {"x": [1.0]}, {}, "column `x` has one value in each row, but input `x` has shape (?, 2)"),
    (PAIRS, {"x": [[1.0, 2.0]], "y": [1]}, {}, "column `y` has the name of a result"),
    (PAIRS, {"x": [[1.0, 2.0]]}, {"outputs": "z"}, "no output `z`; the outputs of graph are: y"),
    (PAIRS, {"x": [[1.0, 2.0]]}, {"columns": {"z": "x"}}, "no input `z`; the inputs of graph are: x"),
    (PAIRS, {"x": [[1.0, 2.0]]}, {"keep": ["z"]}, "keep: no column `z`; columns: x"),
    (PAIRS, {"x": [[1.0, 2.0]]}, {"on_error": "skip"}, "on_error='skip': expected fail, null, collect"),
    (
        PAIRS,
        {"x": [[1.0, 2.0]]},
        {"batch": 3},
        "unexpected keyword argument 'batch'; the options are signature,",
    ),
    (SUM, {"x": [1.0, 2.0]}, {}, "not one value for each row"),
]


@pytest.mark.parametrize(("text", "columns", "options", "error"), TABLES)
@pytest.mark.parametrize("on_error", ["fail", "null"])
def test_a_table_that_does_not_fit_is_an_error_whatever_happens_to_rows(
    text, columns, options, error, on_error
):
    with pytest.raises(tfport.Error) as raised:
        scored(text, columns, **{"on_error": on_error, **options})
    assert error in str(raised.value)


def test_a_saved_model_gives_the_answers_of_its_session():
    x = np.random.default_rng(0).random((50, 2), np.float32)
    session = tfport.Session(path_of("module"))
    expected = session.signature("serving_default")(x=x)["y"]
    score = tfport.batch(path_of("module"), cache=False)
    result = score(pa.record_batch({"x": pa.array(x.tolist(), pa.list_(F32))})).column("y").to_pylist()
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_short_chunks_of_a_table_are_scored_in_one_call(monkeypatch):
    calls = []
    scorer = tfport.batch(model_bytes(PARSES), cache=False, batch_rows=8)
    run = scorer.session.run
    monkeypatch.setattr(scorer.session, "run", lambda *args: calls.append(args) or run(*args))
    table = pa.concat_tables([pa.table({"x": [str(i)]}) for i in range(8)])
    assert table["x"].num_chunks == 8
    assert scorer.score_table(table)["y"].to_pylist() == [float(i) for i in range(8)]
    assert len(calls) == 1
