"""Einsum as matrix products."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.math.matmul import matrices_multiplied

SIZE = dict(zip("abcdehnqk", (2, 3, 4, 5, 2, 3, 4, 2, 3), strict=True))


def einsum(equation, *shapes, kind="float32", **options):
    names = "xz"[: len(shapes)]
    feeds = {name: numbers(*shape, kind=kind) for name, shape in zip(names, shapes, strict=True)}
    text = f'y = Einsum({", ".join(names)}) {{T={kind}, N={len(shapes)}, equation="{equation}"}}'
    return rule_case(matrices_multiplied, text, **feeds, **options)


def named(equation, **options):
    return einsum(
        equation, *[[SIZE[a] for a in part] for part in equation.split("->")[0].split(",")], **options
    )


EQUATIONS = (
    "ab,bc->ac", "ab,cb->ca", "abc,cd->abd", "abhd,aqhd->ahbq", "ab,ab->ab", "ab,ab->", "a,b->ab", "ab->ba",
    "abc->b", "abc->", "ab,bcd->acd", "abc,abd->acd", "abc,b->ac", "abe,cd->ac", "ab,->ab", "abcd,cde->abe",
)  # fmt: skip
CASES = [
    *[named(equation, rtol=1e-5, atol=1e-5) for equation in EQUATIONS],
    *[named(equation, open=("x", "z"), rtol=1e-5, atol=1e-5) for equation in EQUATIONS[:6]],
    einsum("...ab,...bc->...ac", (2, 3, 4), (4, 5)),
    einsum("...ab,...bc->...ac", (2, 1, 3, 4), (3, 4, 5), open=("x", "z")),
    einsum("...ab,bc->ac...", (2, 6, 3, 4), (4, 5), rtol=1e-5, atol=1e-5),
    einsum("...a->...", (2, 3, 4)),
    einsum("a...,a...->...", (3, 2), (3, 1)),
    einsum("ab,bc->ac", (2, 3), (3, 2), kind="float64"),
    einsum("ab,bc->ac", (2, 3), (3, 2), kind="int32"),
    einsum("ab,bc->ac", (0, 3), (3, 2)),
    einsum("ab,bc->ac", (2, 0), (0, 2)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def refuses(c, because):
    assert_refuses(c.rule, c.text, because=because, **c.feeds)


def test_refuses():
    refuses(einsum("aa->a", (2, 2)), "is repeated")
    refuses(einsum("ab->aab", (2, 2)), "is repeated")
    refuses(einsum("ab->abc", (2, 2)), "no factor has the axis c")
    refuses(einsum("ab,bc", (2, 2), (2, 2)), "equation is ab,bc")


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, rtol=c.rtol, atol=c.atol, **c.feeds))


def test_only_unnamed_axes_are_broadcast():
    def ops(equation, *shapes):
        case = einsum(equation, *shapes, open=("x", "z"))
        return {node.op for node in rewritten_for(chain_case(case.text, open=case.open, **case.feeds)).graph}

    assert "Tile" not in ops("abhd,aqhd->ahbq", (2, 3, 4, 5), (2, 6, 4, 5))
    assert "Tile" in ops("...ab,...bc->...ac", (2, 3, 4), (1, 4, 5))


@settings(deadline=None, max_examples=40)
@given(st.permutations("abcd"), st.integers(1, 4), st.permutations("abcd"), st.integers(1, 4), st.data())
def test_any_equation(left, m, right, k, data):
    left, right = "".join(left[:m]), "".join(right[:k])
    all_axes = sorted(set(left + right))
    out = "".join(data.draw(st.permutations([a for a in all_axes if data.draw(st.booleans())])))
    # tfport's runtime has no answer for some products of scalars
    assume(all(set(part) & set(out) for part in (left, right)))
    check(named(f"{left},{right}->{out}", rtol=1e-4, atol=1e-4))


def test_strange_numbers_stay():
    c = einsum("ab,bc->ac", (2, 3), (3, 2))
    c.feeds["x"] = np.array([[np.inf, 1, 2], [np.nan, 0, -0.0]], np.float32)
    check(c)
