"""A recognized message, its meaning, and the functions that look up the names in it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfport.check.explain.messages import KnownMessage

if TYPE_CHECKING:
    from tfport.atlas.spans import Span
    from tfport.atlas.target import Target

OP = re.compile(
    r"Op<name=(\w{1,200})|\}\} = (\w{1,200})\[|\[Op:(\w{1,200})\]|\bNode: \S{1,300} = (\w{1,200})\["
)


@dataclass
class MessageMatch:
    """A message that was found, however often."""

    message: KnownMessage
    names: dict[str, str]
    """What stood in its gaps."""
    text: str
    """The message with what follows it."""
    quote: str
    """The message as far as it was recognised."""
    nodes: list[str] = field(default_factory=list)
    """Some of the nodes that were named."""
    count: int = 1

    @property
    def op(self) -> str | None:
        """The op that it is about, if it tells."""
        if "op" in self.names:
            return self.names["op"]
        found = OP.search(self.text)
        return next(filter(None, found.groups()), None) if found else None


@dataclass
class Meaning:
    """What is recorded about the names in a message."""

    facts: list[str] = field(default_factory=list)
    ways_out: list[str] = field(default_factory=list)
    """Before those that the table gives."""
    on_target: list[str] = field(default_factory=list)
    """What is true of the target."""
    code: str | None = None
    """Where it is another than the table gives."""


Lookup = Callable[[MessageMatch, "Target | None"], Meaning | None]
"""What a message means for its names; None where it is no message after all."""


def lookup_function(name: str) -> Lookup:
    """The function that the table calls `kernels.no_kernel`; its module is only imported now."""
    module, _, function = name.partition(".")
    found: Lookup = getattr(importlib.import_module(f"tfport.check.explain.{module}"), function)
    return found


def use(released: tuple[Span, ...]) -> str:
    """The advice to take one of some releases."""
    last = released[-1]
    which = f"{last.first} or later" if last.open else ", ".join(map(str, released))
    return f"use TensorFlow {which}"
