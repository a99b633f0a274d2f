"""Activation functions by name, with the meaning of the version that saved a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.reductions import log_softmax, softmax, sparsemax
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import select, slice_axis

Activation = Callable[[LayerBuilder, LayerTensor], LayerTensor]


def activate(b: LayerBuilder, activation: Json, x: LayerTensor) -> LayerTensor:
    """Apply the activation of a configuration: None, a name, or a serialized function or layer."""
    if activation is None:
        return x
    if isinstance(activation, Mapping):
        name, config = activation.get("class_name"), activation.get("config")
        if name != "function" and isinstance(config, Mapping):  # a layer, such as LeakyReLU
            return _tensor(b.call(b.sublayer("activation", activation), x))
        activation = config if name == "function" else name
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise b.refuse(f"its activation {activation!r} is not one of Keras's; name a replacement")
    return ACTIVATIONS[activation](b, x).with_mask(x.mask)


def _tensor(result: LayerTensor) -> LayerTensor:
    return result


def relu(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    negative_slope: float = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
) -> LayerTensor:
    """`x` above the threshold, at most `max_value`; below it `negative_slope * (x - threshold)`."""
    if negative_slope and max_value is None and not threshold:
        return leaky_relu(b, x, negative_slope=negative_slope)
    if threshold:
        above = b.cast(b.Greater(x, threshold), x.dtype)
        y = b.Mul(x, above)
    else:
        y = b.Relu6(x) if max_value == 6 else b.Relu(x)
    if max_value is not None and (threshold or max_value != 6):
        y = b.Minimum(b.Maximum(y, 0.0), max_value)
    if not negative_slope:
        return y
    negative = b.Neg(x) if not threshold else b.Sub(threshold, x)
    return b.Sub(y, b.Mul(b.Relu(negative), negative_slope))


def leaky_relu(b: LayerBuilder, x: LayerTensor, *, negative_slope: float = 0.2) -> LayerTensor:
    return b.LeakyRelu(x, alpha=float(negative_slope))


def elu(b: LayerBuilder, x: LayerTensor, *, alpha: float = 1.0) -> LayerTensor:
    if alpha == 1.0:
        return b.Elu(x)
    return b.Add(b.Relu(x), b.Mul(b.Elu(b.Minimum(x, 0.0)), alpha))


def celu(b: LayerBuilder, x: LayerTensor, *, alpha: float = 1.0) -> LayerTensor:
    return b.Add(b.Relu(x), b.Mul(b.Elu(b.RealDiv(b.Minimum(x, 0.0), alpha)), alpha))


def gelu(b: LayerBuilder, x: LayerTensor, *, approximate: bool = False) -> LayerTensor:
    if approximate:
        cubic = b.Add(x, b.Mul(b.Mul(b.Mul(x, x), x), 0.044715))
        return b.Mul(b.Mul(x, 0.5), b.Add(b.Tanh(b.Mul(cubic, 0.7978845608028654)), 1.0))
    return b.Mul(b.Mul(x, 0.5), b.Add(b.Erf(b.Mul(x, 0.7071067811865476)), 1.0))


def silu(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Mul(x, b.Sigmoid(x))


def hard_sigmoid(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """Keras 1 and 2: `0.2 x + 0.5` between 0 and 1; Keras 3: `relu6(x + 3) / 6`."""
    if b.version.major < 3:
        return b.Minimum(b.Maximum(b.Add(b.Mul(x, 0.2), 0.5), 0.0), 1.0)
    return b.RealDiv(b.Relu6(b.Add(x, 3.0)), 6.0)


def glu(b: LayerBuilder, x: LayerTensor, *, axis: int = -1) -> LayerTensor:
    """The first half of an axis times the sigmoid of the second."""
    size = x.shape[axis % x.rank]
    if size is None or size % 2:
        raise b.refuse(f"`glu` halves an axis of the size {size}; expected an even number")
    first, second = slice_axis(b, x, axis, 0, size // 2), slice_axis(b, x, axis, size // 2, None)
    return b.Mul(first, b.Sigmoid(second))


def squareplus(b: LayerBuilder, x: LayerTensor, *, offset: float = 4.0) -> LayerTensor:
    return b.Mul(b.Add(x, b.Sqrt(b.Add(b.Square(x), offset))), 0.5)


def sparse_plus(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """0 up to -1, `x` from 1 on, and a parabola between them."""
    inside = b.Minimum(b.Maximum(x, -1.0), 1.0)
    return b.Add(b.Mul(b.Square(b.Add(inside, 1.0)), 0.25), b.Relu(b.Sub(x, 1.0)))


def sparse_sigmoid(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Mul(b.Add(hard_tanh(b, x), 1.0), 0.5)


def soft_shrink(b: LayerBuilder, x: LayerTensor, *, threshold: float = 0.5) -> LayerTensor:
    return b.Sub(b.Relu(b.Sub(x, threshold)), b.Relu(b.Sub(b.Neg(x), threshold)))


def hard_shrink(b: LayerBuilder, x: LayerTensor, *, threshold: float = 0.5) -> LayerTensor:
    return b.Mul(x, b.cast(b.Greater(b.Abs(x), threshold), x.dtype))


def threshold(b: LayerBuilder, x: LayerTensor, *, threshold: float, default_value: float) -> LayerTensor:
    """`x` above the threshold, else the default value."""
    above = b.Greater(x, threshold)
    return select(b, above, x, b.Add(b.ZerosLike(x), default_value))


def hard_tanh(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Minimum(b.Maximum(x, -1.0), 1.0)


ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda b, x: x,
    "relu": lambda b, x: b.Relu(x),
    "relu6": lambda b, x: b.Relu6(x),
    "leaky_relu": leaky_relu,
    "sigmoid": lambda b, x: b.Sigmoid(x),
    "tanh": lambda b, x: b.Tanh(x),
    "exponential": lambda b, x: b.Exp(x),
    "softplus": lambda b, x: b.Softplus(x),
    "softsign": lambda b, x: b.Softsign(x),
    "elu": elu,
    "selu": lambda b, x: b.Selu(x),
    "celu": celu,
    "gelu": gelu,
    "glu": glu,
    "silu": silu,
    "swish": silu,
    "mish": lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x))),
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": lambda b, x: b.Mul(x, hard_sigmoid(b, x)),
    "hard_swish": lambda b, x: b.Mul(x, hard_sigmoid(b, x)),
    "log_sigmoid": lambda b, x: b.Neg(b.Softplus(b.Neg(x))),
    "softmax": softmax,
    "softmax_v2": softmax,
    "log_softmax": log_softmax,
    "log_softmax_v2": log_softmax,
    "sparsemax": sparsemax,
    "squareplus": squareplus,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "soft_shrink": soft_shrink,
    "hard_shrink": hard_shrink,
    "tanh_shrink": lambda b, x: b.Sub(x, b.Tanh(x)),
    "hard_tanh": hard_tanh,
}
"""The activations with their default arguments; `softmax_v2` is what TensorFlow 2.0 called its softmax."""
