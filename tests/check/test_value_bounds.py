"""Bounds of numbers that a graph shows."""

import math

import pytest
from tests.recorded_models import graph

from tfport.check.kernel_differences import largest

X = "x = Placeholder() {dtype=float32, shape=(?,)}\n"
TURN = "turn = Const() {dtype=float32, value=float32(2,)[-6, 3]}\n"
PARTS = X + TURN + "t = Tanh(x) {T=float32}\n"
COUNTED = """
start = Const() {dtype=int32, value=int32()[0]}
limit = Const() {dtype=int32, value=int32()[-64]}
delta = Const() {dtype=int32, value=int32()[-1]}
n = Placeholder() {dtype=int32, shape=()}
"""
BOUNDS = {
    X + "y = Identity(x) {T=float32}": math.inf,
    TURN + "y = Neg(turn) {T=float32}": 6,
    PARTS + "y = Mul(t, turn) {T=float32}": 6,
    PARTS + "y = Sub(t, turn) {T=float32}": 7,
    PARTS + "y = Mul(x, turn) {T=float32}": math.inf,
    PARTS + "y = Exp(t) {T=float32}": math.inf,
    "x = Placeholder() {dtype=uint8, shape=(?,)}\ny = Cast(x) {SrcT=uint8, DstT=float32}": 256,
    "x = Placeholder() {dtype=bool, shape=(?,)}\ny = Cast(x) {SrcT=bool, DstT=float32}": 1,
    "x = Placeholder() {dtype=int32, shape=(?,)}\ny = Cast(x) {SrcT=int32, DstT=float32}": math.inf,
    "y = Const() {dtype=float32, value=float32(2,)[1, nan]}": math.inf,
    COUNTED + "y = Range(start, limit, delta) {Tidx=int32}": 64,
    COUNTED + "y = Range(start, n, delta) {Tidx=int32}": math.inf,
    PARTS + "y = RealDiv(t, turn) {T=float32}": 1 / 3,
    PARTS + "y = RealDiv(turn, t) {T=float32}": math.inf,
    PARTS + COUNTED + "c = Cast(n) {SrcT=int32, DstT=float32}\ny = RealDiv(turn, c) {T=float32}": 6,
}


@pytest.mark.parametrize("text", BOUNDS, ids=lambda text: text.rpartition("y = ")[2])
def test_a_bound(text):
    assert largest(graph(text).nodes["y"].output(0)) == BOUNDS[text]


def test_a_long_way_is_not_followed():
    steps = [f"n{i} = Neg({'n' + str(i - 1) if i else 'turn'}) {{T=float32}}\n" for i in range(20)]
    nodes = graph(TURN + "".join(steps)).nodes
    assert largest(nodes["n2"].output(0)) == 6
    assert largest(nodes["n19"].output(0)) == math.inf
