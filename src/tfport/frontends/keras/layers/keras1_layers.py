"""Layers that only Keras 1 has."""

from __future__ import annotations

from functools import reduce as fold

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.activation_layers import unshared
from tfport.frontends.keras.layers.merging import batch_dot
from tfport.frontends.keras.masks import merged_mask
from tfport.frontends.keras.rearranging import tiled
from tfport.frontends.keras.tensor import LayerTensor, flat_tensors
from tfport.graph.building.arrays import batch_matmul, concat, expand_dims, matmul, reduce

EPSILON = 1e-7
"""`keras.backend.epsilon()` of Keras 1."""
ELEMENTWISE = {"sum": "Add", "ave": "Add", "mul": "Mul", "max": "Maximum"}


@layer("MaxoutDense")
def maxout_dense(
    b: LayerBuilder, x: LayerTensor, *, output_dim: int, nb_feature: int = 4, use_bias: bool = True
) -> LayerTensor:
    """The largest of several linear layers, element by element."""
    kernel = b.weight("W", (nb_feature, x.shape[-1], output_dim))
    features = tiled(b, expand_dims(b, x, 0), (nb_feature, 1, 1))
    y = batch_matmul(b, features, kernel)
    if use_bias:
        y = b.Add(y, expand_dims(b, b.weight("b", (nb_feature, output_dim)), 1))
    return reduce(b, "Max", y, [0])


@layer("Highway")
def highway(
    b: LayerBuilder, x: LayerTensor, *, activation: Json = None, use_bias: bool = True
) -> LayerTensor:
    """A gate decides between a dense layer and the input itself."""
    size = x.shape[-1]
    kernel, carry_kernel = b.weight("W", (size, size)), b.weight("W_carry", (size, size))
    y, gate = matmul(b, x, kernel), matmul(b, x, carry_kernel)
    if use_bias:
        bias, carry_bias = b.weight("b", (size,)), b.weight("b_carry", (size,))
        y, gate = b.Add(y, bias), b.Add(gate, carry_bias)
    gate = b.Sigmoid(gate)
    return b.Add(b.Mul(activate(b, activation, y), gate), b.Mul(b.Sub(1.0, gate), x))


@layer("ParametricSoftplus", keeps_mask=True)
def parametric_softplus(b: LayerBuilder, x: LayerTensor, *, shared_axes: Json = None) -> LayerTensor:
    alphas = b.weight("alphas", unshared(b, x, shared_axes))
    betas = b.weight("betas", unshared(b, x, shared_axes))
    return b.Mul(b.Softplus(b.Mul(betas, x)), alphas)


@layer("SReLU", keeps_mask=True)
def s_relu(b: LayerBuilder, x: LayerTensor, *, shared_axes: Json = None) -> LayerTensor:
    """Linear between two thresholds, with other slopes below and above them."""
    t_left, a_left, t_right, a_right = (
        b.weight(name, unshared(b, x, shared_axes)) for name in ("t_left", "a_left", "t_right", "a_right")
    )
    upper = b.Add(t_left, b.Abs(t_right))
    above_left = b.Sub(x, t_left)
    center = b.Minimum(b.Relu(above_left), b.Sub(upper, t_left))
    left = b.Mul(b.Relu(b.Neg(above_left)), a_left)
    right = b.Mul(b.Relu(b.Sub(x, upper)), a_right)
    return b.Add(b.Add(t_left, b.Sub(center, left)), right)


@layer("Merge", wraps="layers")
def merge_of_keras_1(
    b: LayerBuilder,
    inputs: list[LayerTensor],
    *,
    mode: Json = "sum",
    mode_type: str = "raw",
    concat_axis: int = -1,
    dot_axes: Json = -1,
    output_shape: Json = None,
    output_shape_type: Json = None,
    output_mask: Json = None,
    output_mask_type: Json = None,
    arguments: Json = None,
    layers: Json = None,
) -> LayerTensor:
    """Combine tensors; before the first layer of a Sequential model, those of the models inside it."""
    if mode_type != "raw":
        raise b.refuse("its mode is a Python function; name a replacement for the layer")
    if layers:
        inputs = _outputs_of(b, layers, inputs)
    if mode in ELEMENTWISE:
        y = fold(lambda x, y: getattr(b, ELEMENTWISE[mode])(x, y), inputs)
        y = b.RealDiv(y, float(len(inputs))) if mode == "ave" else y
        return y.with_mask(merged_mask(b, inputs))
    if mode == "concat":
        return concat(b, inputs, concat_axis)
    if mode not in ("dot", "cos"):
        raise b.refuse(f"its mode `{mode}` is unknown")
    x, y = inputs
    axes = [dot_axes, dot_axes] if isinstance(dot_axes, int) else dot_axes
    indices = [axis % tensor.rank for axis, tensor in zip(axes, inputs, strict=True)]
    product = batch_dot(b, x, y, indices)
    if mode == "dot":
        return product
    own = b.Mul(batch_dot(b, x, x, [indices[0], indices[0]]), batch_dot(b, y, y, [indices[1], indices[1]]))
    return expand_dims(b, b.RealDiv(product, b.Maximum(b.Sqrt(own), EPSILON)), 1)


def _outputs_of(b: LayerBuilder, models: Json, inputs: list[LayerTensor]) -> list[LayerTensor]:
    """The outputs of models that share the inputs among them, in order."""
    outputs, waiting = [], iter(inputs)
    for number, stored in enumerate(models):
        branch = b.sublayer(f"layers_{number}", stored)
        own = flat_tensors(branch.config.model.inputs if branch.config.model else [])
        outputs.append(b.call(branch, [next(waiting) for _ in own]))
    return outputs
