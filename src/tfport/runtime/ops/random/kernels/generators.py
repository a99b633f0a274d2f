"""Random ops of `tf.random.Generator`, whose state is a variable: counter and key."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random import distributions as draw
from tfport.runtime.ops.random.kernels.stateless import binomials
from tfport.runtime.ops.random.philox import Philox, from_state, to_state


def _advanced(variable: Any, algorithm: int, blocks: int, skip: int = 0) -> Philox:
    """The generator in a variable; the variable skips the blocks that will be drawn."""
    taken: list[Philox] = []

    def change(state: Any) -> Any:
        taken.append(from_state(state[skip:], algorithm))
        return np.concatenate([state[:skip], to_state(taken[0].skip(blocks)), state[skip + 3 :]])

    variable.update(change)
    return taken[0]


def _scalar(value: Any, name: str) -> int:
    if value.ndim:
        raise RunFailed(f"{name} must be a scalar, found shape {list(value.shape)}")
    return int(value)


def _declare(op: str, fill: Callable[..., Any]) -> None:
    @host(op)
    def numbers(resource, algorithm, shape, *, dtype):
        dims = draw.shape_of(shape)
        blocks = draw.size_of(dims) * draw.RESERVED
        return fill(_advanced(resource, _scalar(algorithm, "algorithm"), blocks), dims, dtype.numpy)


_declare("StatefulUniform", draw.uniform)
_declare("StatefulStandardNormalV2", draw.normal)
_declare("StatefulTruncatedNormal", draw.truncated_normal)
_declare("StatefulUniformFullInt", draw.full_int)


@host("StatefulUniformInt")
def stateful_uniform_int(resource, algorithm, shape, minval, maxval):
    dims = draw.shape_of(shape)
    if minval.ndim or maxval.ndim or minval >= maxval:
        raise RunFailed(f"minval must be less than maxval, both scalars; found {minval} and {maxval}")
    philox = _advanced(resource, _scalar(algorithm, "algorithm"), draw.size_of(dims) * draw.RESERVED)
    return draw.uniform_int(philox, dims, minval, maxval)


@host("StatefulStandardNormal")
def stateful_normal(resource, shape, *, dtype):
    """The deprecated op has the algorithm before the state."""
    dims, state = draw.shape_of(shape), resource.read()
    if state.ndim != 1 or state.size < 1:
        raise RunFailed(
            f"the generator state must be an int64 vector, found {state.dtype} of shape {list(state.shape)}"
        )
    philox = _advanced(resource, int(state[0]), draw.size_of(dims) * draw.RESERVED, skip=1)
    return draw.normal(philox, dims, dtype.numpy)


@host("StatefulRandomBinomial")
def stateful_binomial(resource, algorithm, shape, counts, probs, *, dtype):
    dims = draw.shape_of(shape)
    rank = max(counts.ndim, probs.ndim)
    batches, each = draw.size_of(dims[len(dims) - rank :]), draw.size_of(dims[: len(dims) - rank])
    blocks = batches * 2 * 100 * (each + 3) // 4 * draw.RESERVED
    philox = _advanced(resource, _scalar(algorithm, "algorithm"), blocks)
    return binomials(philox, dims, counts, probs)


@host("RngSkip")
def rng_skip(resource, algorithm, delta):
    _advanced(resource, _scalar(algorithm, "algorithm"), _scalar(delta, "delta") * draw.RESERVED)


@host("RngReadAndSkip")
def rng_read_and_skip(resource, alg, delta):
    before = resource.read()
    _advanced(resource, _scalar(alg, "alg"), _scalar(delta, "delta") * draw.RESERVED)
    return before


@host("NonDeterministicInts")
def non_deterministic_ints(shape, *, dtype):
    dims = draw.shape_of(shape)
    raw = secrets.token_bytes(draw.size_of(dims) * dtype.numpy.itemsize)
    return np.frombuffer(raw, dtype.numpy).reshape(dims)
