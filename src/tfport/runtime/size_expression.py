"""Sizes that depend on unknown ones: sums of unknown sizes, their products, quotients and remainders.

Equal sums are equal objects, so that a difference of two may be a plain number, and a remainder is often
known though its sizes are not: `(n + (4 - n % 4)) % 4` is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Union

from tfport.startup.dataclass import dataclass

Number = Union[int, "SizeExpression"]
"""A known integer, or an expression of unknown ones."""


@dataclass(frozen=True, slots=True)
class SizeRemainder:
    """The remainder of an expression; never negative."""

    dividend: SizeExpression
    divisor: int


@dataclass(frozen=True, slots=True)
class SizeQuotient:
    """The floored quotient of an expression that is never negative."""

    dividend: SizeExpression
    divisor: int


@dataclass(frozen=True, slots=True)
class SizeProduct:
    """A product of unknown integers, each with its power."""

    factors: frozenset[tuple[Hashable, int]]


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

    def __mul__(self, other: Number) -> Number:
        if not isinstance(other, int | SizeExpression):
            return NotImplemented
        if isinstance(other, int):
            return _sum({size: own * other for size, own in self.terms}, self.constant * other)
        total: Number = self * other.constant
        for size, factor in other.terms:
            products = {_product(own, size): count * factor for own, count in self.terms}
            total = total + _sum({**products, size: self.constant * factor}, 0)
        return total

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Number) -> Number:
        """The floored quotient by a positive number, or by a product that divides each term."""
        if isinstance(divisor, SizeExpression):
            quotient: Number = self._divided(divisor)
            return quotient
        if not isinstance(divisor, int) or divisor <= 0:
            return NotImplemented
        rest = _sum({size: factor % divisor for size, factor in self.terms}, self.constant % divisor)
        whole = _sum({size: factor // divisor for size, factor in self.terms}, self.constant // divisor)
        if isinstance(rest, int):
            return whole
        return whole + SizeExpression.unknown(SizeQuotient(rest, divisor))

    def _divided(self, divisor: SizeExpression) -> Any:
        """The quotient by an expression of one term, which every term must have."""
        if self == divisor:
            return 1
        (size, count), *others = divisor.terms
        if others or divisor.constant or self.constant:
            return NotImplemented
        terms: dict[Hashable, int] = {}
        constant = 0
        for own, factor in self.terms:
            rest = _without(own, size)
            if rest is None or factor % count:
                return NotImplemented
            if rest:
                terms[_of_factors(rest)] = factor // count
            else:
                constant += factor // count
        return _sum(terms, constant)

    def __mod__(self, divisor: int) -> Number:
        """The remainder of a floored division by a positive number."""
        if not isinstance(divisor, int) or divisor <= 0:
            return NotImplemented
        plain = self._without_remainders(divisor)
        terms = {size: factor % divisor for size, factor in _terms(plain)}
        rest = _sum(terms, _constant(plain) % divisor)
        return rest if isinstance(rest, int) else SizeExpression.unknown(SizeRemainder(rest, divisor))

    def _without_remainders(self, divisor: int) -> Number:
        """An expression that leaves the same remainder, without inner remainders where possible."""
        total: Number = self.constant
        for size, factor in self.terms:
            if isinstance(size, SizeRemainder) and size.divisor % divisor == 0:
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


def _factors(size: Hashable) -> dict[Hashable, int]:
    return dict(size.factors) if isinstance(size, SizeProduct) else {size: 1}


def _of_factors(factors: Mapping[Hashable, int]) -> Hashable:
    used = frozenset(factors.items())
    ((size, power), *others) = used
    return size if power == 1 and not others else SizeProduct(used)


def _product(first: Hashable, second: Hashable) -> Hashable:
    factors = _factors(first)
    for size, power in _factors(second).items():
        factors[size] = factors.get(size, 0) + power
    return _of_factors(factors)


def _without(size: Hashable, divisor: Hashable) -> dict[Hashable, int] | None:
    """The factors that are left of a product; None if the divisor is not one of them."""
    factors = _factors(size)
    for own, power in _factors(divisor).items():
        if factors.get(own, 0) < power:
            return None
        factors[own] -= power
    return {own: power for own, power in factors.items() if power}
