"""Expressions of unknown sizes: equal sums are equal, and remainders are reduced."""

import itertools

import pytest

from tfport.runtime.size_expression import SizeExpression, least_of

N, M = SizeExpression.unknown("n"), SizeExpression.unknown("m")


def test_equal_sums_are_equal():
    assert N + 2 + M == 2 + M + N
    assert 2 * N - N - N * 1 == 0
    assert (N + 3) - (N + 1) == 2
    assert N != M


@pytest.mark.parametrize("block", [1, 2, 4, 7])
def test_the_rest_to_a_multiple_makes_a_multiple(block):
    extra = (block - (N + 5) % block) % block
    assert (N + 5 + extra) % block == 0
    assert (3 + extra) - extra == 3


def test_a_remainder_that_depends_on_a_size_stays():
    assert not isinstance(N % 4, int)
    assert N % 4 == (N + 8) % 4
    assert (N % 6) % 3 == N % 3
    assert (N % 3) % 6 != N % 6


def test_lower_bounds():
    assert least_of(N + 3) == 3
    assert least_of(N % 4 * 2 - 1) == -1
    assert least_of(3 - N) is None
    assert least_of(-2) == -2


def test_remainders_are_those_of_integers():
    """An expression of an unknown size is right for every size."""
    for block, offset in itertools.product((2, 3, 6), (-7, 0, 5)):
        known = [(n + offset + (block - (n + offset) % block) % block) % block for n in range(20)]
        assert {(N + offset + (block - (N + offset) % block) % block) % block} == set(known)


@pytest.mark.parametrize("divisor", [0, -2])
def test_only_positive_divisors(divisor):
    with pytest.raises(TypeError):
        N % divisor
