"""Integers that a plan does not know: sums of unknown sizes and remainders, with integer factors.

`SizeExpression` has the operators that graphs use to compute sizes. Equal sums are equal objects, so that
a difference of two may be a plain number, and a remainder is often known though its sizes are not:
`(n + (4 - n % 4)) % 4` is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Union

from tfport.startup.dataclass import dataclass

Number = Union[int, "SizeExpression"]
"""A known integer, or an expression of unknown ones."""


@dataclass(frozen=True, slots=True)
class _Remainder:
    """The remainder of an expression; never negative."""

    dividend: SizeExpression
    divisor: int


@dataclass(frozen=True, slots=True)
class SizeExpression:
    """A constant and terms: unknown integers that are never negative, each with its factor."""

    terms: frozenset[tuple[Hashable, int]]
    constant: int = 0

    @classmethod
    def unknown(cls, size: Hashable) -> SizeExpression:
        """An unknown size; equal keys stand for equal sizes."""
        return cls(frozenset([(size, 1)]))

    @property
    def least(self) -> int | None:
        """A lower bound; None where a term is subtracted."""
        return self.constant if all(factor > 0 for _, factor in self.terms) else None

    def __add__(self, other: Number) -> Number:
        if not isinstance(other, int | SizeExpression):
            return NotImplemented
        terms = dict(self.terms)
        constant = self.constant + _constant(other)
        for size, factor in _terms(other):
            terms[size] = terms.get(size, 0) + factor
        return _sum(terms, constant)

    __radd__ = __add__

    def __neg__(self) -> Number:
        return self * -1

    def __sub__(self, other: Number) -> Number:
        return self + -other

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    def __mul__(self, factor: int) -> Number:
        if not isinstance(factor, int):
            return NotImplemented
        return _sum({size: own * factor for size, own in self.terms}, self.constant * factor)

    __rmul__ = __mul__

    def __mod__(self, divisor: int) -> Number:
        """The remainder of a floored division by a positive number."""
        if not isinstance(divisor, int) or divisor <= 0:
            return NotImplemented
        plain = self._without_remainders(divisor)
        terms = {size: factor % divisor for size, factor in _terms(plain)}
        rest = _sum(terms, _constant(plain) % divisor)
        return rest if isinstance(rest, int) else SizeExpression.unknown(_Remainder(rest, divisor))

    def _without_remainders(self, divisor: int) -> Number:
        """An expression that leaves the same remainder, without inner remainders where possible."""
        total: Number = self.constant
        for size, factor in self.terms:
            if isinstance(size, _Remainder) and size.divisor % divisor == 0:
                total = total + size.dividend._without_remainders(divisor) * factor
            else:
                total = total + _sum({size: factor}, 0)
        return total


def least_of(number: Number) -> int | None:
    """A lower bound of a number; None where none is known."""
    return number if isinstance(number, int) else number.least


def _terms(number: Number) -> frozenset[tuple[Hashable, int]]:
    return frozenset() if isinstance(number, int) else number.terms


def _constant(number: Number) -> int:
    return number if isinstance(number, int) else number.constant


def _sum(terms: Mapping[Hashable, int], constant: int) -> Number:
    used = frozenset((size, factor) for size, factor in terms.items() if factor)
    return SizeExpression(used, constant) if used else constant
