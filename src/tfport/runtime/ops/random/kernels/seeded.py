"""Random ops with seed attributes: a run continues where the previous one stopped.

If both seeds are 0, the numbers differ in each session, as in TensorFlow.
"""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.random import distributions as draw
from tfport.runtime.ops.random.kernels.stateless import categories, check_logits, shuffled
from tfport.runtime.ops.random.philox import generator_of
from tfport.runtime.ops.random.rejection import gamma, laid_out, per_parameter, poisson


@host("RandomUniform")
def random_uniform(shape, *, seed, seed2, dtype, context):
    dims = draw.shape_of(shape)
    philox = generator_of(context, seed, seed2).reserve(draw.size_of(dims) * draw.RESERVED)
    return draw.uniform(philox, dims, dtype.numpy)


@host("RandomStandardNormal")
def random_normal(shape, *, seed, seed2, dtype, context):
    dims = draw.shape_of(shape)
    philox = generator_of(context, seed, seed2).reserve(draw.size_of(dims) * draw.RESERVED)
    return draw.normal(philox, dims, dtype.numpy)


@host("TruncatedNormal")
def truncated_normal(shape, *, seed, seed2, dtype, context):
    dims = draw.shape_of(shape)
    philox = generator_of(context, seed, seed2).reserve(draw.size_of(dims) * draw.RESERVED)
    return draw.truncated_normal(philox, dims, dtype.numpy)


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


@host("RandomGamma")
def random_gamma(shape, alpha, *, seed, seed2, context):
    dims = (*draw.shape_of(shape), *alpha.shape)
    if draw.size_of(dims[: len(dims) - alpha.ndim]) == 0:
        return np.empty(dims)
    if alpha.size == 0:
        raise RunFailed("alpha must have at least one element")
    parameters, each = per_parameter(alpha, dims)
    philox = generator_of(context, seed, seed2).reserve(parameters.size * draw.RESERVED)
    return laid_out(gamma(philox, parameters), each, dims)


@host("RandomPoisson")
def random_poisson(shape, rate, *, seed, seed2, context):
    return _poisson(shape, rate, seed, seed2, context)


@host("RandomPoissonV2")
def random_poisson_v2(shape, rate, *, seed, seed2, dtype, context):
    return _poisson(shape, rate, seed, seed2, context)


def _poisson(shape, rate, seed, seed2, context):
    dims = (*draw.shape_of(shape), *rate.shape)
    if draw.size_of(dims[: len(dims) - rate.ndim]) == 0:
        return np.empty(dims)
    parameters, each = per_parameter(rate, dims)
    philox = generator_of(context, seed, seed2).reserve(parameters.size * draw.RESERVED)
    return laid_out(poisson(philox, parameters), each, dims)
