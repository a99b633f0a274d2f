"""One thing that will go wrong, and the table of all that can.

A class is the code, the message and the page: the first line of its docstring is
the message, the rest is what `tfport explain CODE` prints. `cause` says what is known
about this case, `says` what TensorFlow itself would print, `fixes` what to do, the
cheapest first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from tfport.atlas.target import Target
from tfport.graph.graph import Function, Node

ERROR, WARNING, NOTE = "error", "warning", "note"
LOAD, RUN = "load", "run"
CODES: dict[str, type[Finding]] = {}
"""Every finding by its code."""


@dataclass(kw_only=True, eq=False)
class Finding:
    """What all findings tell."""

    code: ClassVar[str]
    name: ClassVar[str]
    """What is wrong, in a few words: `unregistered-op`."""
    title: ClassVar[str]
    """The message with its gaps open."""
    page: ClassVar[str]
    usual: ClassVar[str]
    """How grave it is where it is noticed."""
    decides: ClassVar[bool] = True
    """Whether the verdict is `fails`; where nobody can know, it is `unknown`."""

    on: Target
    nodes: Sequence[Node] = ()
    """Where; those that matter most first."""
    op: str | None = None
    attr: str | None = None
    stage: str | None = None
    """`load` or `run`: when it is noticed; None if never, as with what only training needs."""
    signatures: Sequence[str] = ()
    """Those that it stops."""
    doubt: str = ""
    """Why it may not come to that; the verdict is then `unknown`."""
    ways_out: list[str] = field(default_factory=list)
    """What to do beyond `fixes`, as far as it was looked for."""

    @property
    def target(self) -> str:
        return self.on.name

    @property
    def severity(self) -> str:
        """What nothing asked for will notice is only a note."""
        return NOTE if self.usual == ERROR and self.stage is None else self.usual

    @property
    def message(self) -> str:
        """The one sentence."""
        return self.title.format_map(_Gaps(self))

    @property
    def node(self) -> str | None:
        return self.nodes[0].name if self.nodes else None

    @property
    def function(self) -> str | None:
        return function_of(self.nodes[0]) if self.nodes else None

    def cause(self) -> str:
        """What is known about this case."""
        return ""

    def says(self) -> str | None:
        """The text that TensorFlow would print, as far as it is known."""
        return None

    def fixes(self) -> list[str]:
        """What to do, the cheapest first."""
        return []


def function_of(node: Node) -> str | None:
    """The function in whose body a node stands; None for the main graph."""
    return node.graph.name if isinstance(node.graph, Function) else None


class _Gaps(dict[str, Any]):
    """The fields of a finding, and what it can tell of itself, for the gaps of its message."""

    def __init__(self, finding: Finding) -> None:
        super().__init__({f.name: getattr(finding, f.name) for f in fields(finding)})
        self._finding = finding

    def __missing__(self, name: str) -> Any:
        return getattr(self._finding, name)


F = TypeVar("F", bound=type[Finding])


@dataclass_transform(kw_only_default=True, eq_default=False)
def finding(code: str, name: str, severity: str = ERROR) -> Callable[[F], F]:
    """Enter a class into the table."""

    def enter(found: F) -> F:
        assert code not in CODES, f"{code} is {CODES[code].__name__} already"
        text = inspect.cleandoc(found.__doc__ or "")
        found.code, found.name, found.usual = code, name, severity
        found.title, _, page = text.partition("\n")
        found.page = page.strip()
        CODES[code] = dataclass(kw_only=True, eq=False)(found)  # the class itself, with its fields
        return found

    return enter
