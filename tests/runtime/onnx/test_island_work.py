"""The estimated work of islands, and the threads that ONNX Runtime gets for it."""

import gc
import math
import os

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.island_work import LIGHT, UNKNOWN_WORK, IslandWork
from tfport.runtime.plan import Plan

DENSE = """
    x = Placeholder() {dtype=float32, shape=(?, 16)}
    y = MatMul(x, x) {T=float32, transpose_a=false, transpose_b=true}
    z = Relu(y) {T=float32}
"""
SQUARE = "{} = MatMul(x, x) {{T=float32, transpose_a=false, transpose_b=false}}"


def work_of(text, feeds=("x:0",)):
    session = session_of(text)
    engine = WatchedEngine(session.engine)
    Plan(session.program(["z:0"], list(feeds)), engine)
    (hints,) = engine.hints
    return hints.work


def sized(shape, op):
    return f"x = Placeholder() {{dtype=float32, shape={shape}}}\n{op}"


@pytest.mark.parametrize(
    ("text", "most", "elements"),
    [
        (DENSE, 32, 16),
        (sized("(100, 100)", SQUARE.format("z")), 2e6, 10_000),
        (sized("(8, 8)", SQUARE.format("m") + "\nz = Tanh(m) {T=float32}"), 10 * 128, 64),
    ],
)
def test_the_node_with_the_most_work_counts(text, most, elements):
    assert work_of(text) == IslandWork(most, elements)


def test_an_unknown_rank_is_unknown_work():
    text = """
        x = Placeholder() {dtype=float32}
        m = Relu(x) {T=float32}
        n = Tanh(m) {T=float32}
        p = Sigmoid(n) {T=float32}
        z = Relu(p) {T=float32}
    """
    assert not work_of(text).may_be_light
    assert math.isinf(UNKNOWN_WORK.most)


@pytest.mark.parametrize(
    ("work", "sizes", "light"),
    [
        (IslandWork(32, 16), [16], True),
        (IslandWork(32, 16), [16 * 100], True),
        (IslandWork(32, 16), [16 * 1000], False),
        (IslandWork(LIGHT / 2, 16), [8], True),
        (IslandWork(LIGHT, 16), [16], False),
        (UNKNOWN_WORK, [1], False),
        (IslandWork(0, 1), [], True),
        (IslandWork(LIGHT / 2, 16, is_fixed=True), [16], True),
        (IslandWork(LIGHT, 16, is_fixed=True), [16], False),
    ],
)
def test_larger_inputs_are_more_work(work, sizes, light):
    assert work.is_light([np.zeros(size, np.float32) for size in sizes]) == light


def test_a_light_island_starts_no_threads():
    gc.collect()  # sessions of other tests end their threads
    before = len(list_threads())
    session = session_of(DENSE, engine=OnnxRuntime(8))
    session.run("z:0", {"x:0": np.ones((2, 16), np.float32)})
    assert len(list_threads()) == before
    session.run("z:0", {"x:0": np.ones((4000, 16), np.float32)})
    assert len(list_threads()) == before + 7


def list_threads():
    """The threads of this process, with those of libraries."""
    return os.listdir("/proc/self/task")


@pytest.mark.parametrize(("shape", "is_fixed"), [("(2, 16)", True), ("(?, 16)", False)])
def test_work_is_fixed_where_all_sizes_are_known(shape, is_fixed):
    assert work_of(DENSE.replace("(?, 16)", shape)).is_fixed is is_fixed
