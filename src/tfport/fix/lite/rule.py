"""Rules for TensorFlow Lite: a function under `@lite_rule` adds operators that compute what another one does.

    @lite_rule("SQUARED_DIFFERENCE", keeps=EXACT)
    def squared_difference(e, n):
        \"\"\"SUB and MUL compute SQUARED_DIFFERENCE.\"\"\"
        difference = e.op("SUB", n.inputs, like=n.outputs[0])
        e.op("MUL", (difference, difference), to=n.outputs[0])

`e` is an editor of the subgraph. A rule writes to the outputs of the old operator, or raises `Refusal`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfport.discovery import Catalog
from tfport.fix.rule import Keeps
from tfport.formats.lite.records import LiteOperator
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.fix.lite.editor import SubgraphEditor

Make = Callable[["SubgraphEditor", LiteOperator], None]


@dataclass(frozen=True, slots=True)
class LiteRule:
    """Equivalents of operators of one kind."""

    name: str
    keeps: Keeps
    says: str
    """What it does, in one sentence for users."""
    make: Make


LITE_RULES = Catalog[LiteRule]("lite rules", "tfport.fix.lite.rules")


def lite_rule(ops: str, *, keeps: Keeps) -> Callable[[Make], Make]:
    """Declare a rule for operators; a Flex op is named as in the file, `FlexSoftplus`."""

    def declare(make: Make) -> Make:
        says = " ".join((make.__doc__ or "").split("\n\n")[0].split())
        rule = LiteRule(make.__name__.replace("_", " "), keeps, says, make)
        for op in ops.split():
            LITE_RULES.add(op, rule)
        return make

    return declare
