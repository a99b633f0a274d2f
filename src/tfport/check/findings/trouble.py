"""What a target cannot resolve, before it is put in words: the same reason for some nodes of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason, on one target, for nodes that are alike."""

    target: Target
    usage: Usage
    reason: Unresolved
    nodes: Sequence[Node]
    producer: int = 0
    """The version of the GraphDef."""

    @property
    def op(self) -> str:
        return self.usage.op

    def with_defaults(self) -> dict[str, Attr]:
        """The attributes of the nodes, and the target's defaults for those that are not there."""
        from tfport.graph.attrs import decode

        definition = self.target.registry.get(self.op)
        declared = definition.attr if definition is not None else ()
        defaults = {a.name: decode(a.default_value) for a in declared if a.HasField("default_value")}
        return {**defaults, **self.usage.attrs}


Builder = Callable[[Trouble], Finding | None]
F = TypeVar("F", bound=Builder)
BUILDERS: dict[Question, Builder] = {}
"""Who puts the answer to a question in words; None where the target does not mind."""


def answers(*questions: Question) -> Callable[[F], F]:
    """Enter a function that makes the finding for a question that failed."""

    def enter(builder: F) -> F:
        BUILDERS.update(dict.fromkeys(questions, builder))
        return builder

    return enter
