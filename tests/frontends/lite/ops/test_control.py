"""Branches, loops and calls of subgraphs."""

import numpy as np
import pytest
from tests.frontends.lite.cases import check, checks, graph_case
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import f32, i32, scalar

import tfport
from tfport.formats.lite.write import lite_bytes

DOUBLE = graph("x -> y", op("ADD", "x x", "y"), x="FLOAT32 2", y="FLOAT32 2")
NEGATIVE = graph("x -> y", op("SUB", "zero x", "y"), x="FLOAT32 2", y="FLOAT32 2", zero=f32(0))
IF = lite_file(
    graph(
        "c x -> y",
        op("IF", "c x", "y", then_subgraph_index=1, else_subgraph_index=2),
        c="BOOL 1",
        x="FLOAT32 2",
        y="FLOAT32 2",
    ),
    DOUBLE,
    NEGATIVE,
)
SHAPES = lite_file(
    graph(
        "c x -> y",
        op("IF", "c x", "y", then_subgraph_index=1, else_subgraph_index=2),
        c="BOOL",
        x="FLOAT32 2",
        y="FLOAT32 2",
    ),
    DOUBLE,
    graph("x -> y", op("CONCATENATION", "x x", "y", axis=0), x="FLOAT32 2", y="FLOAT32 4"),
)


def _while(condition="BOOL"):
    """Doubles a number until it is not less than ten, and counts."""
    return lite_file(
        graph(
            "n x -> m y",
            op("WHILE", "n x", "m y", cond_subgraph_index=1, body_subgraph_index=2),
            n="INT32",
            x="FLOAT32 1",
            m="INT32",
            y="FLOAT32 1",
        ),
        graph(
            "n x -> less",
            op(
                "STRIDED_SLICE", "x zero one one", "first", shrink_axis_mask=0 if condition == "BOOL 1" else 1
            ),
            op("CAST", "first", "whole"),
            op("RIGHT_SHIFT", "whole three", "shifted"),
            op("CAST", "shifted", "flag"),
            op("LOGICAL_NOT", "flag", "less"),
            n="INT32",
            x="FLOAT32 1",
            first="FLOAT32 1" if condition == "BOOL 1" else "FLOAT32",
            whole="INT32 1" if condition == "BOOL 1" else "INT32",
            shifted="INT32 1" if condition == "BOOL 1" else "INT32",
            flag=condition,
            less=condition,
            zero=i32(0),
            one=i32(1),
            three=i32(3) if condition == "BOOL 1" else scalar(3),
        ),
        graph(
            "n x -> m y",
            op("ADD", "n one", "m"),
            op("ADD", "x x", "y"),
            n="INT32",
            x="FLOAT32 1",
            m="INT32",
            y="FLOAT32 1",
            one=scalar(1),
        ),
    )


GROWING = lite_file(
    graph(
        "n x -> m y",
        op("WHILE", "n x", "m y", cond_subgraph_index=1, body_subgraph_index=2),
        n="INT32",
        x="FLOAT32 1",
        m="INT32",
        y="FLOAT32 1",
    ),
    graph("n x -> c", op("CAST", "n", "c"), n="INT32", x="FLOAT32 1", c="BOOL"),
    graph(
        "n x -> m y",
        op("SUB", "n one", "m"),
        op("CONCATENATION", "x x", "y", axis=0),
        n="INT32",
        x="FLOAT32 1",
        m="INT32",
        y="FLOAT32 1",
        one=scalar(1),
    ),
)
CASE = lite_file(
    graph(
        "c x -> y",
        op("STABLEHLO_CASE", "c x", "y", branch_subgraph_indices=(1, 2)),
        c="INT32",
        x="FLOAT32 2",
        y="FLOAT32 2",
    ),
    DOUBLE,
    NEGATIVE,
)

CASES = [
    graph_case("IF", IF, np.array([True]), f32(1, 2)),
    graph_case("IF", IF, np.array([False]), f32(1, 2)),
    graph_case("IF", SHAPES, np.array(True), f32(1, 2)),
    graph_case("IF", SHAPES, np.array(False), f32(1, 2)),
    graph_case("WHILE", _while(), scalar(0), f32(1)),
    graph_case("WHILE", _while(), scalar(5), f32(100)),
    graph_case("WHILE", _while("BOOL 1"), scalar(5), f32(1.5)),
    graph_case("WHILE", GROWING, scalar(3), f32(1)),
    graph_case("WHILE", GROWING, scalar(0), f32(1)),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_control(c):
    check("control", c)


def test_subgraphs_that_call_each_other_are_refused_in_time():
    """Each of 30 subgraphs calls the next twice, the last one the first."""
    calls = [
        graph(
            "x -> z",
            op("CALL", "x", "y", subgraph=(number + 1) % 30),
            op("CALL", "y", "z", subgraph=(number + 1) % 30),
            x="FLOAT32 2",
            y="FLOAT32 2",
            z="FLOAT32 2",
        )
        for number in range(30)
    ]
    assert "calls itself" in tfport.load(lite_bytes(lite_file(*calls))).no_graph
