"""Attention, and the rotation of activations."""

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.frontends.lite.cases import case, check, checks, const, out
from tests.runtime.cases import numbers

import tfport


def _custom(name, *inputs, shape, **options):
    c = case("CUSTOM", *inputs, custom=name, outputs=[out("FLOAT32", shape=shape)])
    c.custom_options = _stored(options)
    c.delegated = name.startswith("odml.")
    return c


def _stored(options):
    """Numbers as float32, which XNNPACK expects."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            if isinstance(value, float):
                builder.Float(value, 4)
            else:
                builder.Add(value)
    return bytes(builder.Finish())


def _rotation(*shape, size):
    signs = [1] * size
    options = {"hadamard_size": size, "random_binary_vector": signs}
    return _custom("aeq.hadamard_rotation", numbers(*shape), shape=shape, **options)


def _attention(heads, shared, *, steps=3, length=5, depth=4, mask=None, **options):
    name = "odml.scaled_dot_product_attention"
    query = numbers(1, steps, heads, depth)
    key, value = (numbers(1, length, shared, depth, seed=seed) for seed in (1, 2))
    mask = np.zeros((1, 1, steps, length), np.float32) if mask is None else mask
    return _custom(name, query, key, value, const(mask), shape=query.shape, **options)


CAUSAL = np.where(np.tri(3, 5, 2) > 0, 0, -1e9).astype(np.float32).reshape(1, 1, 3, 5)
CASES = [
    _rotation(2, 8, size=8),
    _rotation(3, 2, 12, size=4),
    _rotation(2, 256, size=128),
    _rotation(1, 3, size=1),
    _attention(4, 4),
    _attention(4, 1, mask=CAUSAL),
    _attention(4, 2, mask=CAUSAL),
    _attention(4, 4, scale=0.3),
    _attention(4, 1, scale=2.0, logit_cap=1.5),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_attention(c):
    check("attention", c)


@pytest.mark.parametrize("c", [_rotation(2, 6, size=4), _rotation(2, 6, size=3)])
def test_parts_that_do_not_fit_are_refused(c):
    with pytest.raises(tfport.Error, match="do not fit"):
        tfport.Session(tfport.load(c.model))
