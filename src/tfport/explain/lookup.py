"""A recognized message, its meaning, and the functions that look up the names in it."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tfport.explain.evidence import Circumstances
from tfport.explain.messages import KnownMessage, PossibleCause
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from tfport.atlas.release_spans import Span
    from tfport.atlas.target import Target

OP = re.compile(
    r"Op<name=(\w{1,200})|\}\} = (\w{1,200})\[|\[Op:(\w{1,200})\]|\bNode: \S{1,300} = (\w{1,200})\["
)
QUOTES = re.compile("['\"]")
OTHER_FRAMEWORKS = {
    "torch": "PyTorch", "pytorch": "PyTorch", "jaxlib": "JAX", "ggml": "llama.cpp", "llama.cpp": "llama.cpp",
    "paddle": "PaddlePaddle", "mxnet": "MXNet", "onnxruntime": "ONNX Runtime", "cupy": "CuPy",
}  # fmt: skip
FRAMEWORK = re.compile(
    rf"(?<![\w-])({'|'.join(map(re.escape, OTHER_FRAMEWORKS))})(?![\w-])|(?<!org_)(tensorflow|keras)",
    re.IGNORECASE,
)


@dataclass
class MessageMatch:
    """A known message in a text, with the number of its occurrences."""

    message: KnownMessage
    names: dict[str, str]
    """The text in its placeholders, by name."""
    text: str
    """The message and the text that follows it."""
    quote: str
    """The part of the text that matched."""
    nodes: list[str] = field(default_factory=list)
    """Some of the nodes that it names."""
    count: int = 1
    before: str = ""
    """The text before the message."""
    links: dict[int, int] = field(default_factory=dict)
    """The exceptions that it occurs in: the first position by chain (`ExceptionPosition`)."""
    within: list[MessageMatch] = field(default_factory=list)
    """Matches of earlier rows that contain it; empty if it also occurs outside of them."""

    @property
    def op(self) -> str | None:
        """The op that the message is about, if it names one."""
        if "op" in self.names:
            return self.names["op"]
        op = OP.search(self.text)
        return next(filter(None, op.groups()), None) if op else None

    @functools.cached_property
    def circumstances(self) -> Circumstances:
        """What the text around the message tells."""
        return Circumstances(self.before, self.text, self.names)

    @property
    def is_cut(self) -> bool:
        """Whether the message ends with its line within quotes, as where a terminal wraps the line."""
        rest = self.text[len(self.quote) :]
        return len(QUOTES.findall(self.quote)) % 2 == 1 and (not rest or rest[0].isspace())

    def is_quoted(self, name: str) -> bool:
        """Whether a name is between quotes, or nothing in the message is."""
        return f"'{name}" in self.quote.replace('"', "'") or not QUOTES.search(self.quote)


def other_framework(text: str) -> str | None:
    """The framework that a text is about, if it names one and never TensorFlow or Keras."""
    names = {name[0].lower() for name in FRAMEWORK.findall(text)}
    return OTHER_FRAMEWORKS[min(names)] if names and "" not in names else None


@dataclass
class Meaning:
    """What the atlas records about the names in a message."""

    facts: list[str] = field(default_factory=list)
    ways_out: list[str] = field(default_factory=list)
    """Added before those of the table."""
    on_target: list[str] = field(default_factory=list)
    """Facts about the target of the query."""
    code: str | None = None
    """Replaces the code of the table."""
    replaces: bool = False
    """Whether facts and ways out replace those of the table, because the message means something else."""
    causes: list[PossibleCause] = field(default_factory=list)
    """Possible causes, before those of the table."""


Lookup = Callable[[MessageMatch, "Target | None"], Meaning | None]
"""Looks up what a message means for its names; None if the text is not this message after all."""


def lookup_function(name: str) -> Lookup:
    """The function that the table names, such as `kernels.no_kernel`; imports its module."""
    module, _, function = name.partition(".")
    lookup: Lookup = getattr(importlib.import_module(f"tfport.explain.{module}"), function)
    return lookup


def use(released: tuple[Span, ...]) -> str:
    """The advice to use one of some releases."""
    return f"use TensorFlow {any_of(released)}"


def any_of(released: tuple[Span, ...]) -> str:
    """Some releases as a choice: `2.4.0 or later`."""
    last = released[-1]
    return f"{last.first} or later" if last.open else ", ".join(map(str, released))


EVERY_RELEASE = "in all recorded releases"


def recorded(released: Iterable[Span]) -> str:
    """Spans of releases as a phrase: `since 1.0.0` would say more than is known, as records begin there."""
    from tfport.atlas.atlas import atlas  # imported here: most messages need no atlas
    from tfport.atlas.release_spans import STOCK, on_x86

    first = on_x86(atlas(), STOCK)[0].version
    return ", ".join(
        f"{EVERY_RELEASE} (from {first} on)" if span.open and span.first == first else str(span)
        for span in released
    )
