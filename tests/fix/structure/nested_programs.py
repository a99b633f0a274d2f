"""Programs of two numbers with nested branches, loops and calls, as text, and their expected outputs.

A program is a list of statements, each of which makes two numbers of two numbers:
`("add",)`, `("if", program, program)`, `("case", programs)`, `("while", turns, program)` …
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Statement = tuple[Any, ...]
PAIR = "Tin=[int32, int32], Tout=[int32, int32]"
LIMIT = 97

LEAVES = st.one_of(
    st.sampled_from([("add",), ("mul",), ("sub",), ("swap",), ("pass",)]),
    st.tuples(st.just("set"), st.integers(-5, 5)),
)


def _larger(inner: Any) -> Any:
    body = st.lists(inner, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), body, body),
        st.tuples(st.just("if_number"), body, body),
        st.tuples(st.just("case"), st.lists(body, min_size=1, max_size=4)),
        st.tuples(st.just("while"), st.integers(0, 3), body),
        st.tuples(st.just("call"), body),
    )


PROGRAMS = st.lists(st.recursive(LEAVES, _larger, max_leaves=8), min_size=1, max_size=4)


def answer(program: list[Statement], a: int, b: int) -> tuple[int, int]:
    """What a program makes of two numbers."""
    for kind, *rest in program:
        if kind == "add":
            a = a + b
        elif kind == "mul":
            a = (a * b) % LIMIT
        elif kind == "sub":
            b = a - b
        elif kind == "swap":
            a, b = b, a
        elif kind == "set":
            a = rest[0]
        elif kind == "if":
            a, b = answer(rest[0] if a < b else rest[1], a, b)
        elif kind == "if_number":
            a, b = answer(rest[0] if a else rest[1], a, b)
        elif kind == "case":
            a, b = answer(rest[0][a if 0 <= a < len(rest[0]) else -1], a, b)
        elif kind == "while":
            for _ in range(rest[0]):
                a, b = answer(rest[1], a, b)
        elif kind == "call":
            a, b = answer(rest[0], a, b)
    return a, b


@dataclass
class Text:
    """The functions of a program as they are written."""

    functions: list[str] = field(default_factory=list)

    def function(self, program: list[Statement]) -> str:
        name = f"f{len(self.functions)}"
        self.functions.append("")
        place = len(self.functions) - 1
        lines, a, b = self.body(program, "a", "b")
        head = f"def {name}(a: int32, b: int32) -> (c: int32, d: int32):"
        self.functions[place] = "\n".join([head, *(f"  {x}" for x in [*lines, f"return c={a}, d={b}"])])
        return name

    def body(self, program: list[Statement], a: str, b: str) -> tuple[list[str], str, str]:
        lines: list[str] = []
        for i, (kind, *rest) in enumerate(program):
            x = f"s{i}"
            if kind == "add":
                lines.append(f"{x} = Add({a}, {b}) {{T=int32}}")
                a = x
            elif kind == "mul":
                lines.append(f"{x}_limit = Const() {{dtype=int32, value=int32()[{LIMIT}]}}")
                lines.append(f"{x}_product = Mul({a}, {b}) {{T=int32}}")
                lines.append(f"{x} = FloorMod({x}_product, {x}_limit) {{T=int32}}")
                a = x
            elif kind == "sub":
                lines.append(f"{x} = Sub({a}, {b}) {{T=int32}}")
                b = x
            elif kind == "swap":
                a, b = b, a
            elif kind == "set":
                lines.append(f"{x} = Const() {{dtype=int32, value=int32()[{rest[0]}]}}")
                a = x
            elif kind != "pass":
                lines += self.structure(x, kind, rest, a, b)
                a, b = (f"{x}:1", f"{x}:2") if kind == "while" else (x, f"{x}:1")
        return lines, a, b

    def structure(self, x: str, kind: str, rest: list[Any], a: str, b: str) -> list[str]:
        if kind == "call":
            return [f"{x} = PartitionedCall({a}, {b}) {{{PAIR}, f=@{self.function(rest[0])}}}"]
        if kind == "case":
            branches = ", ".join(f"@{self.function(branch)}" for branch in rest[0])
            return [f"{x} = StatelessCase({a}, {a}, {b}) {{{PAIR}, branches=[{branches}]}}"]
        if kind == "while":
            return self.loop(x, rest[0], self.function(rest[1]), a, b)
        then, otherwise = map(self.function, rest)
        branches = f"{PAIR}, then_branch=@{then}, else_branch=@{otherwise}"
        if kind == "if_number":
            return [f"{x} = If({a}, {a}, {b}) {{Tcond=int32, {branches}}}"]
        return [
            f"{x}_less = Less({a}, {b}) {{T=int32}}",
            f"{x} = StatelessIf({x}_less, {a}, {b}) {{Tcond=bool, {branches}}}",
        ]

    def loop(self, x: str, turns: int, inner: str, a: str, b: str) -> list[str]:
        n = len(self.functions)
        self.functions += [
            f"def go{n}(i: int32, a: int32, b: int32) -> (go: bool):\n"
            f"  limit = Const() {{dtype=int32, value=int32()[{turns}]}}\n"
            "  less = Less(i, limit) {T=int32}\n"
            "  return go=less",
            f"def turn{n}(i: int32, a: int32, b: int32) -> (j: int32, c: int32, d: int32):\n"
            "  one = Const() {dtype=int32, value=int32()[1]}\n"
            "  next = Add(i, one) {T=int32}\n"
            f"  made = PartitionedCall(a, b) {{{PAIR}, f=@{inner}}}\n"
            "  return j=next, c=made, d=made:1",
        ]
        types = f"T=[int32, int32, int32], cond=@go{n}, body=@turn{n}, output_shapes=[(), (), ()]"
        return [
            f"{x}_zero = Const() {{dtype=int32, value=int32()[0]}}",
            f"{x} = StatelessWhile({x}_zero, {a}, {b}) {{{types}}}",
        ]


def text_of(program: list[Statement]) -> str:
    """The program in our notation: `a` and `b` are fed, `c` and `d` are the answer."""
    made = Text()
    lines, a, b = made.body(program, "a", "b")
    start = [f"{x} = Placeholder() {{dtype=int32, shape=()}}" for x in "ab"]
    end = [f"c = Identity({a}) {{T=int32}}", f"d = Identity({b}) {{T=int32}}"]
    return "\n".join([*start, *lines, *end, *made.functions])
