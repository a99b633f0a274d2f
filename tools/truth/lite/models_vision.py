"""Vision and audio models as users of the converter have them: each a model and its input shapes."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L

Made = tuple[Any, list[tuple[Any, ...]]]


def model(inputs: Any, outputs: Any) -> Made:
    """Return a Keras model whose weights, batch statistics included, are random."""
    made = keras.Model(inputs, outputs)
    for index, weight in enumerate(made.weights):
        random = np.random.default_rng(index).uniform(-0.4, 0.4, weight.shape).astype("float32")
        name = getattr(weight, "path", weight.name)
        weight.assign(abs(random) + 0.5 if "variance" in name or "gamma" in name else random)
    return made, [tuple(tensor.shape) for tensor in made.inputs]


def image(size: int = 32, channels: int = 3, batch: int | None = 1) -> Any:
    return keras.Input((size, size, channels), batch_size=batch)


def conv(
    x: Any, filters: int, kernel: int = 3, stride: int = 1, activation: str | None = "relu", **more: Any
) -> Any:
    x = L.Conv2D(filters, kernel, stride, padding="same", use_bias=False, **more)(x)
    x = L.BatchNormalization()(x)
    return L.Activation(activation)(x) if activation else x


def digits() -> Made:
    x = inputs = image(28, 1)
    x = L.MaxPooling2D()(L.Conv2D(8, 3, activation="relu")(x))
    x = L.MaxPooling2D()(L.Conv2D(16, 3, activation="relu")(x))
    x = L.Dense(32, activation="relu")(L.Flatten()(x))
    return model(inputs, L.Dense(10, activation="softmax")(x))


def digits_any_batch() -> Made:
    x = inputs = image(28, 1, None)
    x = L.AveragePooling2D(3, 2)(L.Conv2D(6, 5, activation="tanh")(x))
    x = L.Dense(24, activation="sigmoid")(L.Flatten()(x))
    return model(inputs, L.Dense(10)(x))


def mobilenet_v1() -> Made:
    x = inputs = image(48)
    x = conv(x, 8, stride=2, activation="relu6")
    for filters, stride in ((16, 1), (24, 2), (24, 1), (32, 2)):
        x = L.DepthwiseConv2D(3, stride, padding="same", use_bias=False)(x)
        x = L.Activation("relu6")(L.BatchNormalization()(x))
        x = conv(x, filters, 1, activation="relu6")
    return model(inputs, L.Dense(12, activation="softmax")(L.GlobalAveragePooling2D()(x)))


def mobilenet_v2() -> Made:
    x = inputs = image(40)
    x = conv(x, 8, stride=2, activation="relu6")
    for filters, stride in ((8, 1), (12, 2), (12, 1), (16, 2)):
        block = conv(x, x.shape[-1] * 4, 1, activation="relu6")
        block = L.DepthwiseConv2D(3, stride, padding="same")(block)
        block = conv(L.ReLU(6.0)(block), filters, 1, activation=None)
        x = L.Add()([x, block]) if block.shape == x.shape else block
    return model(inputs, L.Dense(7)(L.GlobalAveragePooling2D(keepdims=True)(x)))


def mobilenet_v3() -> Made:
    x = inputs = image(32)
    x = conv(x, 8, stride=2, activation="hard_swish")
    for filters, kernel in ((8, 3), (16, 5)):
        block = conv(x, 24, 1, activation="hard_swish")
        block = L.DepthwiseConv2D(kernel, padding="same", activation="hard_swish")(block)
        gate = L.Conv2D(8, 1, activation="relu")(L.GlobalAveragePooling2D(keepdims=True)(block))
        block = block * L.Conv2D(24, 1, activation="hard_sigmoid")(gate)
        x = conv(block, filters, 1, activation=None)
    return model(inputs, L.Dense(5, activation="softmax")(L.Flatten()(L.GlobalMaxPooling2D()(x))))


def efficientnet() -> Made:
    x = inputs = image(33)
    x = conv(
        L.ZeroPadding2D(((0, 1), (0, 1)))(L.Rescaling(1 / 127.5, -1.0)(x)), 8, stride=2, activation="swish"
    )
    gate = L.Dense(8, activation="sigmoid")(L.Dense(4, activation="swish")(L.GlobalAveragePooling2D()(x)))
    x = x * L.Reshape((1, 1, 8))(gate)
    x = conv(x, 12, 1, activation="swish")
    return model(inputs, L.Dense(9, activation="softmax")(L.GlobalAveragePooling2D()(x)))


def resnet() -> Made:
    x = inputs = image(31)
    x = L.MaxPooling2D(3, 2, padding="same")(conv(x, 8, 7, 2))
    for filters, stride in ((8, 1), (16, 2)):
        short = x if stride == 1 else conv(x, filters, 1, stride, None)
        x = L.ReLU()(L.Add()([short, conv(conv(x, filters, 3, stride), filters, activation=None)]))
    return model(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def densenet() -> Made:
    x = inputs = image(24)
    x = conv(x, 6)
    for _ in range(3):
        x = L.Concatenate()([x, L.Conv2D(4, 3, padding="same")(L.ReLU()(L.BatchNormalization()(x)))])
    return model(inputs, L.Dense(4)(L.Flatten()(L.AveragePooling2D(2)(x))))


def inception() -> Made:
    x = inputs = image(30)
    x = L.SpatialDropout2D(0.2)(conv(x, 8, stride=2))
    parts = [conv(x, 4, 1), conv(conv(x, 4, 1), 6, 3), conv(conv(x, 4, 1), 4, 5)]
    x = L.Concatenate()([*parts, conv(L.MaxPooling2D(3, 1, padding="same")(x), 4, 1)])
    return model(inputs, [L.Dense(3, activation="softmax", name="kind")(L.GlobalMaxPooling2D()(x)), x])


def unet() -> Made:
    inputs = image(32)
    a = conv(inputs, 6)
    b = conv(L.MaxPooling2D()(a), 12)
    c = conv(L.MaxPooling2D()(b), 16)
    x = conv(L.Concatenate()([L.Conv2DTranspose(12, 2, 2)(c), b]), 12)
    x = conv(L.Concatenate()([L.Conv2DTranspose(6, 3, 2, padding="same", activation="relu")(x), a]), 6)
    return model(inputs, L.Conv2D(2, 1, activation="sigmoid")(x))


def upsampling() -> Made:
    x = inputs = image(16)
    x = L.UpSampling2D(2, interpolation="bilinear")(conv(x, 6, stride=2))
    x = L.UpSampling2D(3, interpolation="nearest")(conv(x, 4))
    return model(inputs, L.Conv2D(1, 1, activation="tanh")(x))


def deeplab() -> Made:
    x = inputs = image(33)
    x = conv(x, 8, stride=2)
    parts = [conv(x, 6, 3, dilation_rate=rate) for rate in (2, 4)]
    pooled = L.UpSampling2D(17, interpolation="bilinear")(L.GlobalAveragePooling2D(keepdims=True)(x))
    x = conv(L.Concatenate()([*parts, conv(pooled, 6, 1)]), 8, 1)
    return model(inputs, L.Lambda(lambda t: tf.argmax(t, -1))(L.Conv2D(3, 1)(x)))


def super_resolution() -> Made:
    x = inputs = image(20)
    x = L.Conv2D(12, 3, padding="same")(L.PReLU(shared_axes=[1, 2])(L.Conv2D(8, 5, padding="same")(x)))
    return model(inputs, L.Lambda(lambda t: tf.clip_by_value(tf.nn.depth_to_space(t, 2), 0.0, 1.0))(x))


def keyword_spotting() -> Made:
    x = inputs = keras.Input((49, 10, 1), batch_size=1)
    x = L.Conv2D(16, (10, 4), (2, 2), padding="same", activation="relu")(x)
    for _ in range(2):
        x = L.ReLU()(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same")(x)))
        x = conv(x, 16, 1)
    x = L.Flatten()(L.AveragePooling2D((25, 5))(x))
    return model(inputs, L.Dense(12, activation="softmax")(x))


def audio_conv1d() -> Made:
    x = inputs = keras.Input((256, 2), batch_size=1)
    x = L.MaxPooling1D(4)(L.Conv1D(8, 7, 2, padding="causal", activation="relu")(x))
    x = L.SeparableConv1D(12, 3, dilation_rate=2, activation="elu")(x)
    x = L.LeakyReLU(0.1)(L.Conv1D(4, 3, padding="same")(x))
    return model(inputs, L.Dense(6)(L.GlobalAveragePooling1D()(x)))


def video() -> Made:
    x = inputs = keras.Input((6, 16, 16, 3), batch_size=1)
    x = L.Conv3D(4, 3, (1, 2, 2), padding="same", activation="relu")(x)
    x = L.Conv3DTranspose(3, 2, 2)(x)
    return model(inputs, L.Dense(3)(L.Flatten()(x)))


def grouped() -> Made:
    x = inputs = image(16, 8)
    x = L.Conv2D(16, 3, 2, groups=4, padding="same", activation="gelu")(x)
    x = L.DepthwiseConv2D(3, depth_multiplier=3, activation="relu")(x)
    x = L.DepthwiseConv2D(3, dilation_rate=2)(x)
    return model(inputs, L.Conv2D(5, 1, activation="softmax")(x))


def pose() -> Made:
    """A head with heat maps and offsets, as in PoseNet and CenterNet."""
    x = inputs = image(40)
    x = conv(conv(x, 8, stride=2, activation="relu6"), 12, stride=2, activation="relu6")
    heat = L.Conv2D(5, 1, activation="sigmoid")(x)
    peaks = keras.ops.max(L.Reshape((100, 5))(heat), axis=1)
    return model(inputs, [heat, L.Conv2D(10, 1)(x), peaks])


def layer_norm_cnn() -> Made:
    """ConvNeXt: depthwise 7x7, layer normalization, GELU, scale."""
    x = inputs = image(28)
    x = L.LayerNormalization(epsilon=1e-6)(L.Conv2D(12, 4, 4)(x))
    block = L.LayerNormalization(epsilon=1e-6)(L.DepthwiseConv2D(7, padding="same")(x))
    block = L.Dense(12)(L.Dense(48, activation="gelu")(block))
    return model(inputs, L.Dense(6)(L.LayerNormalization()(L.GlobalAveragePooling2D()(x + block * 0.1))))


MODELS = {
    f.__name__: f
    for f in (
        digits, digits_any_batch, mobilenet_v1, mobilenet_v2, mobilenet_v3, efficientnet, resnet,
        densenet, inception, unet, upsampling, deeplab, super_resolution, keyword_spotting, audio_conv1d,
        video, grouped, pose, layer_norm_cnn,
    )
}  # fmt: skip
