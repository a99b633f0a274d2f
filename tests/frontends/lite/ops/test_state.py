"""Variables and hash tables."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, graph_case, out
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, i32, i64, numbers, strings

import tfport

COUNT = {"container": "", "shared_name": "count"}
ADD_UP = (
    op("VAR_HANDLE", "", "v", **COUNT),
    op("READ_VARIABLE", "v", "old"),
    op("ADD", "old x", "new"),
    op("ASSIGN_VARIABLE", "v new", ""),
)
TENSORS = {"v": "RESOURCE", "old": "FLOAT32 2", "new": "FLOAT32 2", "x": "FLOAT32 2"}
START = graph(
    "->",
    op("VAR_HANDLE", "", "v", **COUNT),
    op("ASSIGN_VARIABLE", "v start", ""),
    v="RESOURCE",
    start=f32(5, 7),
)
INITIALIZED = lite_file(
    graph("x -> new", op("CALL_ONCE", "", "", init_subgraph_index=1), *ADD_UP, **TENSORS),
    START,
)
ORDER = lite_file(
    graph(
        "x -> before after",
        op("CALL_ONCE", "", "", init_subgraph_index=1),
        op("VAR_HANDLE", "", "v", **COUNT),
        op("READ_VARIABLE", "v", "before"),
        op("ASSIGN_VARIABLE", "v x", ""),
        op("READ_VARIABLE", "v", "after"),
        op("ADD", "after x", "twice"),
        op("ASSIGN_VARIABLE", "v twice", ""),
        v="RESOURCE",
        before="FLOAT32 2",
        after="FLOAT32 2",
        twice="FLOAT32 2",
        x="FLOAT32 2",
    ),
    START,
)
IN_A_BRANCH = lite_file(
    graph(
        "c x -> y",
        op("CALL_ONCE", "", "", init_subgraph_index=1),
        op("VAR_HANDLE", "", "v", **COUNT),
        op("IF", "c v x", "y", then_subgraph_index=2, else_subgraph_index=3),
        c="BOOL",
        v="RESOURCE",
        x="FLOAT32 2",
        y="FLOAT32 2",
    ),
    START,
    graph("v x -> new", *ADD_UP[1:], **TENSORS),
    graph("v x -> old", op("READ_VARIABLE", "v", "old"), v="RESOURCE", x="FLOAT32 2", old="FLOAT32 2"),
)


def _table(key, value, keys, values, default):
    table = {"table_id": 3, "key_dtype": key, "value_dtype": value}
    return lite_file(
        graph(
            "x -> y n",
            op("CALL_ONCE", "", "", init_subgraph_index=1),
            op("HASHTABLE", "", "t", **table),
            op("HASHTABLE_FIND", "t x default", "y"),
            op("HASHTABLE_SIZE", "t", "n"),
            t="RESOURCE 1",
            x=f"{key} 3",
            y=f"{value} 3",
            n="INT64 1",
            default=default,
        ),
        graph(
            "->",
            op("HASHTABLE", "", "t", **table),
            op("HASHTABLE_IMPORT", "t keys values", ""),
            t="RESOURCE 1",
            keys=keys,
            values=values,
        ),
    )


WORDS = _table("STRING", "INT64", strings("a", "bc", "d"), i64(7, 8, 9), i64(-1))
NAMES = _table("INT64", "STRING", i64(7, 8, 9), strings("a", "bc", "d"), strings("?"))
LOOKED_UP = {"outputs": [out("FLOAT32"), out("UINT8")]}

CASES = [
    graph_case("READ_VARIABLE", INITIALIZED, f32(1, 2)),
    graph_case("ASSIGN_VARIABLE", ORDER, f32(1, 2)),
    graph_case("IF", IN_A_BRANCH, np.array(True), f32(1, 2)),
    graph_case("IF", IN_A_BRANCH, np.array(False), f32(1, 2)),
    graph_case("READ_VARIABLE", lite_file(graph("x -> new", *ADD_UP, **TENSORS)), f32(1, 2), fails=True),
    graph_case("HASHTABLE_FIND", WORDS, strings("d", "x", "a")),
    graph_case("HASHTABLE_FIND", NAMES, i64(8, 1, 7)),
    case("HASHTABLE_LOOKUP", i32(4, 1, 9), const(i32(1, 3, 9)), const(numbers(3, 2)), **LOOKED_UP),
    case("HASHTABLE_LOOKUP", i32(10, 3), i32(1, 3, 9), numbers(3), **LOOKED_UP),
    case(
        "HASHTABLE_LOOKUP",
        i32(3, 2),
        const(i32(1, 3)),
        const(strings("one", "three")),
        outputs=[out("STRING"), out("UINT8")],
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_state(c):
    check("state", c)


def test_a_table_that_another_subgraph_fills_is_one_node():
    graph = tfport.load(graph_case("HASHTABLE_FIND", WORDS, strings("d", "x", "a")).model).graph
    assert [node.op for node in graph].count("HashTableV2") == 1
