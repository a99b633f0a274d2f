"""Activation functions by name, with the meaning of the version that saved a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfport.formats.keras.records import Json
from tfport.keras.layer_builder import LayerBuilder
from tfport.keras.tensor import LayerTensor

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


def softmax(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.tensor(b.node("Softmax", x), x.shape)


def hard_sigmoid(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """Keras 1 and 2: `0.2 x + 0.5` between 0 and 1; Keras 3: `relu6(x + 3) / 6`."""
    if b.version.major < 3:
        return b.Minimum(b.Maximum(b.Add(b.Mul(x, 0.2), 0.5), 0.0), 1.0)
    return b.RealDiv(b.Relu6(b.Add(x, 3.0)), 6.0)


ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda b, x: x,
    "relu": lambda b, x: b.Relu(x),
    "relu6": lambda b, x: b.Relu6(x),
    "sigmoid": lambda b, x: b.Sigmoid(x),
    "tanh": lambda b, x: b.Tanh(x),
    "exponential": lambda b, x: b.Exp(x),
    "softplus": lambda b, x: b.Softplus(x),
    "softsign": lambda b, x: b.Softsign(x),
    "elu": lambda b, x: b.Elu(x),
    "selu": lambda b, x: b.Selu(x),
    "hard_sigmoid": hard_sigmoid,
    "softmax": softmax,
}
"""The activations with their default arguments."""
