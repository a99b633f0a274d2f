"""Small models of graphs in the node notation, for the tests of tables."""

from __future__ import annotations

from pathlib import Path

from tests.recorded_models import graph

from tfport.graph.build import graph_to_def

PARSES = """
    x = Placeholder() {dtype=string, shape=(?)}
    y = StringToNumber(x) {out_type=float32}
"""
"""A text that is not a number fails."""
DOUBLES = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    y = AddV2(x, x) {T=float32}
"""
"""Rows of any length."""
PAIRS = """
    x = Placeholder() {dtype=float32, shape=(?, 2)}
    y = AddV2(x, x) {T=float32}
"""
GRIDS = """
    x = Placeholder() {dtype=float32, shape=(?, 2, 2)}
    y = AddV2(x, x) {T=float32}
"""
SMALL = """
    x = Placeholder() {dtype=int8, shape=(?)}
    y = AddV2(x, x) {T=int8}
"""
SCALED = """
    x = Placeholder() {dtype=float32, shape=(?)}
    factor = Placeholder() {dtype=float32, shape=()}
    y = Mul(x, factor) {T=float32}
"""
UPPER = """
    x = Placeholder() {dtype=string, shape=(?)}
    y = StringUpper(x) {encoding=""}
"""
ONE_ROW = """
    x = Placeholder() {dtype=float32, shape=(1, 2)}
    y = AddV2(x, x) {T=float32}
"""
FOUR_ROWS = """
    x = Placeholder() {dtype=float32, shape=(4, 2)}
    y = AddV2(x, x) {T=float32}
"""
NO_ROWS = """
    x = Placeholder() {dtype=float32, shape=(2)}
    y = AddV2(x, x) {T=float32}
"""
SUM = """
    x = Placeholder() {dtype=float32, shape=(?)}
    axis = Const() {dtype=int32, value=int32(1)[0]}
    y = Sum(x, axis) {T=float32, Tidx=int32, keep_dims=false}
"""
"""One number for all rows together."""


def model_bytes(text: str) -> bytes:
    return graph_to_def(graph(text)).SerializeToString()


def model_file(text: str, folder: Path) -> str:
    path = folder / "model.pb"
    path.write_bytes(model_bytes(text))
    return str(path)
