"""What the generated models of `real_generated.py` are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tensors = dict[str, Any]
Maker = Callable[[Any], tuple[Tensors, Tensors]]
MAKERS: dict[str, Maker] = {}
"""How to build the graph of each model: a function of `tf` that returns inputs and outputs."""


def maker(make: Maker) -> Maker:
    MAKERS[make.__name__] = make
    return make


def dense(tf: Any, x: Any, units: int, name: str) -> Any:
    v1 = tf.compat.v1
    w = v1.get_variable(f"{name}/w", [x.shape[-1], units], x.dtype)
    b = v1.get_variable(f"{name}/b", [units], x.dtype, v1.zeros_initializer())
    flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w) + b
    return tf.reshape(flat, tf.concat([tf.shape(x)[:-1], [units]], 0))


def conv(
    tf: Any,
    x: Any,
    size: int,
    filters: int,
    name: str,
    *,
    stride: int = 1,
    dilation: int = 1,
    relu: bool = True,
) -> Any:
    """A convolution of any rank; a dilated one through SpaceToBatchND, as TF1 wrote them."""
    rank = len(x.shape) - 2
    w = tf.compat.v1.get_variable(f"{name}/w", [size] * rank + [x.shape[-1], filters], x.dtype)
    b = tf.compat.v1.get_variable(f"{name}/b", [filters], x.dtype, tf.compat.v1.zeros_initializer())
    if dilation == 1:
        y = tf.nn.convolution(x, w, [stride] * rank, "SAME")
    else:
        y = tf.compat.v1.nn.with_space_to_batch(
            x,
            [dilation] * rank,
            "SAME",
            lambda z, *_: tf.nn.convolution(z, w, padding="VALID"),
            w.shape[:rank],
        )
    y = tf.nn.bias_add(y, b) if rank == 2 else y + b
    return tf.nn.relu(y) if relu else y
