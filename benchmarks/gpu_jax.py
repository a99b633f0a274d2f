"""A contender of `gpu.py`: JAX with networks of the same architecture, normalization folded into weights."""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gpu_timing import BATCHES, each_model, median_ms, report
from jax import lax

TYPES = {"tf32": jnp.float32, "float16": jnp.float16}
RESNET = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Of each stage: channels, blocks and the stride of the first block."""
MOBILENET = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Of each stage: expansion, channels, blocks and the stride of the first block."""
VOCABULARY, WIDTH, HEADS, LAYERS, TOKENS = 20000, 256, 8, 6, 128


class Weights:
    """Weights in the order in which a network takes them; random ones are made if none are there."""

    def __init__(self, dtype: Any, arrays: Sequence[Any] = ()) -> None:
        self._random, self._dtype = np.random.default_rng(0), dtype
        self._left = list(arrays)
        self.made: list[np.ndarray] = []

    def take(self, *shape: int) -> Any:
        if self._left:
            return self._left.pop(0)
        scale = 1 / math.sqrt(max(math.prod(shape[:-1]), 1))
        self.made.append((self._random.standard_normal(shape, np.float32) * scale).astype(self._dtype))
        return self.made[-1]


def conv(w: Weights, x: Any, size: int, channels: int, stride: int = 1, groups: int = 1) -> Any:
    kernel = w.take(size, size, x.shape[-1] // groups, channels)
    pads = [(size // 2, size // 2)] * 2
    layout = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(
        x, kernel, (stride, stride), pads, dimension_numbers=layout, feature_group_count=groups
    )
    return y + w.take(channels)


def resnet50(w: Weights, x: Any) -> Any:
    x = jax.nn.relu(conv(w, x, 7, 64, 2))
    pads = ((0, 0), (1, 1), (1, 1), (0, 0))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), pads)
    for channels, blocks, first in RESNET:
        for block in range(blocks):
            stride = first if block == 0 else 1
            y = jax.nn.relu(conv(w, x, 1, channels, stride))
            y = conv(w, jax.nn.relu(conv(w, y, 3, channels)), 1, 4 * channels)
            x = jax.nn.relu(y + (conv(w, x, 1, 4 * channels, stride) if block == 0 else x))
    return jax.nn.softmax(dense(w, x.mean((1, 2)), 1000))


def mobilenet_v2(w: Weights, x: Any) -> Any:
    x = jax.nn.relu6(conv(w, x, 3, 32, 2))
    for expansion, channels, blocks, first in MOBILENET:
        for block in range(blocks):
            stride, inner = (first if block == 0 else 1), x.shape[-1] * expansion
            y = jax.nn.relu6(conv(w, x, 1, inner)) if expansion > 1 else x
            y = conv(w, jax.nn.relu6(conv(w, y, 3, inner, stride, inner)), 1, channels)
            x = x + y if y.shape == x.shape else y
    x = jax.nn.relu6(conv(w, x, 1, 1280))
    return jax.nn.softmax(dense(w, x.mean((1, 2)), 1000))


def dense(w: Weights, x: Any, channels: int) -> Any:
    return x @ w.take(x.shape[-1], channels) + w.take(channels)


def norm(w: Weights, x: Any) -> Any:
    wide = x.astype(jnp.float32)
    scaled = (wide - wide.mean(-1, keepdims=True)) * lax.rsqrt(wide.var(-1, keepdims=True) + 1e-6)
    return scaled.astype(x.dtype) * w.take(WIDTH) + w.take(WIDTH)


def transformer(w: Weights, tokens: Any) -> Any:
    x = jnp.asarray(w.take(VOCABULARY, WIDTH))[tokens]
    heads = (*tokens.shape, HEADS, WIDTH // HEADS)
    for _ in range(LAYERS):
        q, k, v = (dense(w, x, WIDTH).reshape(heads) for _ in range(3))
        attended = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
        x = norm(w, x + dense(w, attended, WIDTH))
        x = norm(w, x + dense(w, jax.nn.gelu(dense(w, x, 4 * WIDTH), approximate=False), WIDTH))
    return jax.nn.softmax(dense(w, x.mean(1), 10))


NETWORKS: dict[str, Callable[[Weights, Any], Any]] = {
    "resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "transformer": transformer,
}  # fmt: skip


def example(name: str, batch: int, dtype: Any) -> np.ndarray:
    random = np.random.default_rng(0)
    if name == "transformer":
        return random.integers(0, VOCABULARY, (batch, TOKENS)).astype(np.int32)
    return random.random((batch, 224, 224, 3), np.float32).astype(dtype)


def measure(path: Path) -> None:
    network = NETWORKS[path.name]
    for precision, dtype in TYPES.items():
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if dtype == jnp.float32 else None)
        random = Weights(dtype)
        jax.eval_shape(lambda x, random=random: network(random, x), example(path.name, 1, dtype))
        weights = jax.device_put(random.made)
        run = jax.jit(lambda arrays, x, dtype=dtype: network(Weights(dtype, arrays), x))
        for batch in BATCHES:
            call = functools.partial(run, weights)
            report(path, "JAX", precision, _times(call, example(path.name, batch, dtype), batch))


def _times(call: Callable[[Any], jax.Array], inputs: np.ndarray, batch: int) -> dict[str, float]:
    there = jax.device_put(inputs)
    return {
        f"host_{batch}": median_ms(lambda: np.asarray(call(inputs))),
        f"device_{batch}": median_ms(lambda: call(there).block_until_ready()),
    }


if __name__ == "__main__":
    each_model(measure)
