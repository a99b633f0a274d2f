"""One thing that will go wrong, and the table of all that can.

A class is the code, the message and the page: the first line of its docstring is
the message, the rest is what `tfport explain CODE` prints. `cause` says what is known
about this case, `says` what TensorFlow itself would print, `fixes` what to do, the
cheapest first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, dataclass_transform

from tfport.atlas.target import OURS, Target
from tfport.graph.graph import Function, Node

ERROR, WARNING, NOTE = "error", "warning", "note"
LOAD, RUN = "load", "run"
CODES: dict[str, type[Finding]] = {}
"""Every finding by its code."""


class _Page:
    """The docstring of a finding, taken apart when it is asked for: its first line, or the rest."""

    def __init__(self, part: int) -> None:
        self.part = part

    def __get__(self, _: object, owner: type) -> str:
        first, _, rest = inspect.cleandoc(owner.__doc__ or "").partition("\n")
        return (first, rest.strip())[self.part]


@dataclass_transform(kw_only_default=True, eq_default=False)
class _Told:
    """Takes what its class names, as a dataclass does; making sixty of those would cost more than a check."""

    def __init__(self, **told: Any) -> None:
        vars(self).update(told)


class Finding(_Told):
    """What all findings tell. Those that have more to tell name it, with its type, in the class."""

    code: ClassVar[str]
    name: ClassVar[str]
    """What is wrong, in a few words: `unregistered-op`."""
    title: ClassVar[Any] = _Page(0)
    """The message with its gaps open."""
    page: ClassVar[Any] = _Page(1)
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

    ways_out: Sequence[str] = ()
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
        return str(self.title).format_map(_Gaps(self))

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

    @property
    def tensorflow_says(self) -> str | None:
        """The same on the target: tfport's own runtime is no TensorFlow, and says nothing of the kind."""
        return None if self.on.kind == OURS else self.says()

    def fixes(self) -> list[str]:
        """What to do, the cheapest first."""
        return []


def function_of(node: Node) -> str | None:
    """The function in whose body a node stands; None for the main graph."""
    return node.graph.name if isinstance(node.graph, Function) else None


class _Gaps(dict[str, Any]):
    """What a finding can tell of itself, for the gaps of its message."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self._finding = finding

    def __missing__(self, name: str) -> Any:
        return getattr(self._finding, name)


F = TypeVar("F", bound=type[Finding])


def finding(code: str, name: str, severity: str = ERROR) -> Callable[[F], F]:
    """Enter a class into the table."""

    def enter(found: F) -> F:
        assert code not in CODES, f"{code} is {CODES[code].__name__} already"
        found.code, found.name, found.usual = code, name, severity
        CODES[code] = found
        return found

    return enter
