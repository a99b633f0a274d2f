"""A rewrite rule: other nodes that answer what one node answers, or the reason why there are none.

    @rule("FusedBatchNormV3", keeps=EXACT)
    def without_reserve_space(op, n):
        '''FusedBatchNormV2 has the first five outputs, and no reserve_space_3.'''
        if readers := n.outputs[5].uses:
            return refuse(f"`{readers[0]}` reads reserve_space_3")
        return op.FusedBatchNormV2(*n.inputs, **n.attrs)

`op` makes nodes (`fix.maker`); the answer is a node, which takes the place of `n` output for
output, a value, or one value for each output (None for one that nothing reads). A rule is a
value: which are used, and in which order, is decided by `fix.engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import TYPE_CHECKING

from tfport.graph.graph import Node, Value

if TYPE_CHECKING:
    from tfport.fix.maker import Maker

ANY = "*"
"""As the op of a rule: every op."""


class Keeps(Enum):
    """What a rule promises of the answers."""

    EXACT = "exact"
    """The same bits."""
    ROUNDING = "rounding"
    """The same mathematics, rounded elsewhere."""
    LOSSY = "lossy"
    """Something is lost; used only where that is allowed."""

    @property
    def price(self) -> int:
        """What using a rule costs, beside one for each node that it makes."""
        return {Keeps.EXACT: 0, Keeps.ROUNDING: 1_000, Keeps.LOSSY: 1_000_000}[self]


EXACT, ROUNDING, LOSSY = Keeps.EXACT, Keeps.ROUNDING, Keeps.LOSSY


class Refusal(Exception):
    """Why a rule does not apply; returned by it, or raised by what it calls."""

    @property
    def why(self) -> str:
        return str(self)


def refuse(why: str) -> Refusal:
    """The answer of a rule that does not apply."""
    return Refusal(why)


Made = Node | Value | Sequence[Node | Value | None] | Refusal


@dataclass(frozen=True, slots=True)
class Rule:
    """What to make of some ops."""

    name: str
    ops: tuple[str, ...]
    keeps: Keeps
    says: str
    """One sentence."""
    make: Callable[[Maker, Node], Made]
    origin: str
    """The module that has it."""


def rule(ops: str, *, keeps: Keeps) -> Callable[[Callable[[Maker, Node], Made]], Rule]:
    """Declare a rule for one op or several, `"Add AddV2"`; its name and sentence are the function's."""

    def declared(make: Callable[[Maker, Node], Made]) -> Rule:
        says = " ".join((make.__doc__ or make.__name__).partition("\n\n")[0].split())
        return Rule(make.__name__, tuple(ops.split()), keeps, says, make, make.__module__)

    return declared


def rules_in(module: ModuleType) -> list[Rule]:
    """The rules that a module declares, in its order."""
    return [one for one in vars(module).values() if isinstance(one, Rule) and one.origin == module.__name__]
