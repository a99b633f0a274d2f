"""Functions of one float32 tensor: graphs that compute them, exact values, and how errors are measured."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

BOUNDS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("accuracy.toml").read_text())
TINY = float(np.finfo(np.float32).tiny)
LARGEST = float(np.finfo(np.float32).max)
_STRIDE = 19_997
_SELU, _SELU_ALPHA = 1.0507009873554805, 1.7580993408473769

_ROWS = """
        column_shape = Const() {dtype=int32, value=int32(2,)[-1, 1]}
        sequence_shape = Const() {dtype=int32, value=int32(3,)[1, -1, 1]}
        vector_shape = Const() {dtype=int32, value=int32(1,)[-1]}
        column = Reshape(x, column_shape) {T=float32, Tshape=int32}
        sequence = Reshape(x, sequence_shape) {T=float32, Tshape=int32}
        zeros = ZerosLike(column) {T=float32}
        zero_sequence = ZerosLike(sequence) {T=float32}
        steps = Const() {dtype=int64, value=int64()[1]}
        w = Const() {dtype=float32, value=float32(2, 4)[1, 1, 1, 1, 1, 1, 1, 1]}
        w_ru = Const() {dtype=float32, value=float32(2, 2)[1, 1, 1, 1]}
        w_c = Const() {dtype=float32, value=float32(2, 1)[1, 1]}
        b1 = Const() {dtype=float32, value=float32(1,)[0]}
        b2 = Const() {dtype=float32, value=float32(2,)[0, 0]}
        b4 = Const() {dtype=float32, value=float32(4,)[0, 0, 0, 0]}
        lstm = Const() {dtype=float32, value=float32(16,)[1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
        gru = Const() {dtype=float32, value=float32(12,)[1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
"""
"""Inputs of a recurrent cell with one unit: a batch of one step, in which every gate reads x."""


def _cell(node: str, output: str) -> str:
    return f"{_ROWS}\n cell = {node}\n y = Reshape({output}, vector_shape) {{T=float32, Tshape=int32}}"


_LSTM_ARGS = "zeros, zeros, w, b1, b1, b1, b4) {T=float32}"
_CUDNN = (
    'CudnnRNNV2(sequence, zero_sequence, zero_sequence, {0}) {{T=float32, rnn_mode="{0}", is_training=false}}'
)
_COMPOSED = {
    "BlockLSTM": _cell(f"BlockLSTM(steps, sequence, {_LSTM_ARGS}", "cell:6"),
    "BlockLSTMV2": _cell(f"BlockLSTMV2(steps, sequence, {_LSTM_ARGS}", "cell:6"),
    "LSTMBlockCell": _cell(f"LSTMBlockCell(column, {_LSTM_ARGS}", "cell:6"),
    "GRUBlockCell": _cell("GRUBlockCell(column, zeros, w_ru, w_c, b2, b1) {T=float32}", "cell:3"),
    "CudnnLSTM": _cell(_CUDNN.format("lstm"), "cell"),
    "CudnnGRU": _cell(_CUDNN.format("gru"), "cell"),
    "Swish": """
        s = Sigmoid(x) {T=float32}
        y = Mul(x, s) {T=float32}
    """,
    "Gelu": """
        half = Const() {dtype=float32, value=float32()[0.5]}
        root = Const() {dtype=float32, value=float32()[0.70710677]}
        minus = Neg(x) {T=float32}
        scaled = Mul(minus, root) {T=float32}
        tail = Erfc(scaled) {T=float32}
        part = Mul(half, x) {T=float32}
        y = Mul(part, tail) {T=float32}
    """,
    "GeluTanh": """
        half = Const() {dtype=float32, value=float32()[0.5]}
        unit = Const() {dtype=float32, value=float32()[1]}
        root = Const() {dtype=float32, value=float32()[0.7978846]}
        cubic = Const() {dtype=float32, value=float32()[0.044715]}
        square = Mul(x, x) {T=float32}
        cube = Mul(square, x) {T=float32}
        third = Mul(cubic, cube) {T=float32}
        sum = AddV2(x, third) {T=float32}
        inner = Mul(root, sum) {T=float32}
        t = Tanh(inner) {T=float32}
        above = AddV2(unit, t) {T=float32}
        part = Mul(half, x) {T=float32}
        y = Mul(part, above) {T=float32}
    """,
}


def _sigmoid(x: Any) -> Any:
    return special.expit(x)


def _log_softmax(x: Any) -> Any:
    return x - special.logsumexp(x, axis=-1, keepdims=True)


def _lstm(x: Any) -> Any:
    """The output of an LSTM cell without memory, all of whose gates are x."""
    return _sigmoid(x) * np.tanh(_sigmoid(x) * np.tanh(x))


def _gru(x: Any) -> Any:
    return _sigmoid(-x) * np.tanh(x)


EXACT: dict[str, Callable[[Any], Any]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "BlockLSTM": _lstm,
    "BlockLSTMV2": _lstm,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "CudnnGRU": _gru,
    "CudnnLSTM": _lstm,
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Erf": special.erf,
    "Erfc": special.erfc,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "GRUBlockCell": _gru,
    "Gelu": lambda x: x * 0.5 * special.erfc(-x * np.sqrt(0.5)),
    "GeluTanh": lambda x: x * _sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)),
    "LSTMBlockCell": _lstm,
    "Log": np.log,
    "Log1p": np.log1p,
    "LogSoftmax": _log_softmax,
    "Reciprocal": lambda x: 1 / x,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Selu": lambda x: np.where(x < 0, _SELU_ALPHA * np.expm1(x), _SELU * x),
    "Sigmoid": _sigmoid,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Softmax": lambda x: np.exp(_log_softmax(x)),
    "Softplus": lambda x: np.logaddexp(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Sqrt": np.sqrt,
    "Swish": lambda x: x * _sigmoid(x),
    "Tan": np.tan,
    "Tanh": np.tanh,
}


OF_ROWS = ("LogSoftmax", "Softmax")
"""Functions of the rows of a matrix; the others are functions of each element."""


def bound_of(name: str) -> float:
    """The largest error of tfport on this machine."""
    bounds = BOUNDS[name]
    return bounds.get(f"tfport_{platform.machine()}", bounds["tfport"])


def graph_of(name: str) -> str:
    """A graph that computes `y` from `x`, a vector or, for functions of rows, a matrix."""
    body = _COMPOSED.get(name) or f"y = {name}(x) {{T=float32}}"
    shape = "(?, ?)" if name in OF_ROWS else "(?)"
    return f"x = Placeholder() {{dtype=float32, shape={shape}}}\n{body}"


def rows(length: int, count: int) -> Any:
    """Rows of logits whose softmax goes from 1 down to the smallest floats."""
    return np.random.default_rng(length).normal(0, 9, (count, length)).astype(np.float32)


@cache
def float32_values() -> Any:
    """Values of every magnitude and sign, densely where functions bend, and the special ones."""
    bits = np.arange(0, 2**32, _STRIDE, dtype=np.uint64).astype(np.uint32).view(np.float32)
    bits = bits[~np.isnan(bits)]
    bends = np.linspace(-120, 120, 60_001).astype(np.float32)
    special_values = np.array(
        [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, LARGEST, -LARGEST, TINY, -TINY], np.float32
    )
    normal = bits[np.abs(bits) >= TINY]  # TensorFlow takes smaller inputs as zero
    return np.concatenate([normal, bends, special_values])


@np.errstate(all="ignore")
def errors(name: str, x: Any, answer: Any) -> Any:
    """The error of each answer in the scale of the function; infinite where NaN or infinity is wrong."""
    wide = x.astype(np.float64)
    exact = np.where(np.isnan(wide), np.nan, EXACT[name](wide))
    distance = np.maximum(np.abs(answer - exact) - TINY, 0)
    scale = np.abs(exact)
    match BOUNDS[name].get("scale"):
        case "input":
            scale = np.maximum(scale, np.abs(wide))
        case "one":
            scale = np.maximum(scale, 1)
        case "exponent":
            scale = scale * (1 + wide.max(axis=-1, keepdims=True) - wide)
    error = np.where(distance == 0, 0, distance / scale)
    same = (answer == exact.astype(np.float32)) | (np.isnan(answer) & np.isnan(exact))
    return np.where(same, 0, np.where(np.isfinite(error), error, np.inf))
