"""Random ops with seed attributes: a run continues where the previous one stopped.

If both seeds are 0, the numbers differ in each session, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random import distributions as draw
from tfport.runtime.ops.random.kernels.stateless import categories, check_logits, shuffled
from tfport.runtime.ops.random.philox import generator_of
from tfport.runtime.ops.random.rejection import gamma, laid_out, per_parameter, poisson


def _declare(op: str, fill: Callable[..., Any]) -> None:
    @host(op)
    def numbers(shape, *, seed, seed2, dtype, context):
        dims = draw.shape_of(shape)
        philox = generator_of(context, seed, seed2).reserve(draw.size_of(dims) * draw.RESERVED)
        return fill(philox, dims, dtype.numpy)


_declare("RandomUniform", draw.uniform)
_declare("RandomStandardNormal", draw.normal)
_declare("TruncatedNormal", draw.truncated_normal)


@host("RandomUniformInt")
def random_uniform_int(shape, minval, maxval, *, seed, seed2, context):
    dims = draw.shape_of(shape)
    if draw.size_of(dims) == 0:
        return np.empty(dims, minval.dtype)
    philox = generator_of(context, seed, seed2).reserve(draw.size_of(dims) * draw.RESERVED)
    return draw.uniform_int(philox, dims, minval, maxval)


@host("RandomShuffle")
def random_shuffle(value, *, seed, seed2, context):
    return shuffled(value, lambda blocks: generator_of(context, seed, seed2).reserve(blocks))


@host("Multinomial")
def multinomial(logits, num_samples, *, seed, seed2, output_dtype, context):
    count = check_logits(logits, num_samples)
    if logits.shape[0] * count == 0:
        return np.empty((logits.shape[0], count))
    blocks = logits.shape[0] * ((count + 3) // 4 * 4 * 2) * draw.RESERVED
    return categories(generator_of(context, seed, seed2).reserve(blocks), logits, num_samples)


def _sampled(sample, shape, parameter, seed, seed2, context):
    dims = (*draw.shape_of(shape), *parameter.shape)
    if draw.size_of(dims[: len(dims) - parameter.ndim]) == 0:
        return np.empty(dims)
    if parameter.size == 0 and sample is gamma:
        raise RunFailed("alpha must have at least one element")
    parameters, each = per_parameter(parameter, dims)
    philox = generator_of(context, seed, seed2).reserve(parameters.size * draw.RESERVED)
    return laid_out(sample(philox, parameters), each, dims)


@host("RandomGamma")
def random_gamma(shape, alpha, *, seed, seed2, context):
    return _sampled(gamma, shape, alpha, seed, seed2, context)


@host("RandomPoisson")
def random_poisson(shape, rate, *, seed, seed2, context):
    return _sampled(poisson, shape, rate, seed, seed2, context)


@host("RandomPoissonV2")
def random_poisson_v2(shape, rate, *, seed, seed2, dtype, context):
    return _sampled(poisson, shape, rate, seed, seed2, context)
