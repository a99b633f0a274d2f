"""What does an error message, or a log full of them, mean? Told from what is recorded, not from hearsay.

`explain_log(lines)` looks for the messages of the table `messages.toml` and asks the
atlas about the names in each: since when an op is registered, which kernels there
are, who exports a symbol. The same message many times is explained once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfport.check.explain.find import MessageFinder
from tfport.check.explain.log import MOST
from tfport.check.explain.lookup import Meaning, MessageMatch, lookup_function
from tfport.check.explain.messages import HARMLESS, messages

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.check.explain.model import AffectedNodes, ModelContext
    from tfport.graph.model import Model

SMALL = 4096
"""How much of a text is looked at again where nothing was recognised."""
WORD = re.compile(r"[a-z]{3,}")
ALIKE = 4
"""Words that begin alike count as one word."""


@dataclass
class Explanation:
    """A message, and what it means for the names in it."""

    name: str
    code: str | None
    kind: str
    quote: str
    count: int
    names: dict[str, str]
    means: list[str]
    ways_out: list[str]
    on_target: list[str]
    concerned: AffectedNodes | None = None
    """The nodes of the model that it is about."""


@dataclass
class Explained:
    """What was found in a text."""

    explanations: list[Explanation] = field(default_factory=list)
    nearest: str | None = None
    """Where nothing was recognised, the message that has most words in common with the text."""
    more: int = 0
    """Messages beyond those that are explained: there were too many different ones."""
    is_cut: bool = False
    """Whether the text was too long, and its end was not read."""
    target: str | None = None
    model: str | None = None

    @property
    def exit_code(self) -> int:
        return 0 if self.explanations else 1

    def to_json(self) -> dict[str, Any]:
        from tfport.check.explain.json import to_json

        return to_json(self)

    def __str__(self) -> str:
        from tfport.check.console import plain
        from tfport.check.explain.text import render

        return plain(lambda width: render(self, width))


def explain_log(
    lines: Iterable[str], *, target: Target | None = None, model: Model | None = None
) -> Explained:
    """Explain every message that is recognised in a text, whatever its length."""
    text, finder = _LogText(lines), MessageFinder()
    at_hand = _at_hand(model, target) if model is not None else None
    explanations = _explanations(finder.read(text), target, at_hand)
    if not explanations and len(text.first) > 1:  # a terminal may have broken lines within words
        whole = "".join(line.rstrip("\r\n") for line in text.first)
        explanations = _explanations(finder.read([whole]), target, at_hand)
    return Explained(
        explanations,
        None if explanations else _nearest(" ".join(text.first)),
        finder.more,
        text.is_cut,
        target.requirement if target else None,
        model.where if model else None,
    )


def _at_hand(model: Model, target: Target | None) -> ModelContext:
    from tfport.check.explain.model import ModelContext  # here, as most messages come without a model

    return ModelContext(model, target)


class _LogText:
    """The lines of a text, no more than are read at most; the first of them stay at hand."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.first: list[str] = []
        self.is_cut = False

    def __iter__(self) -> Iterator[str]:
        size = 0
        for line in self._lines:
            if size < SMALL:
                self.first.append(line)
            size += len(line)
            self.is_cut = size > MOST
            if self.is_cut:
                return
            yield line


def _explanations(
    found: list[MessageMatch], target: Target | None, model: ModelContext | None
) -> list[Explanation]:
    """What was found that is a message, errors first; what only says where is left out beside them."""
    made = [e for said in found if (e := _explain(said, target, model)) is not None]
    only_alone = {said.message.name for said in found if said.message.only_alone}
    telling = [e for e in made if e.name not in only_alone and e.kind != HARMLESS]
    alone = [e for e in made if e.name in only_alone]
    return [*(telling or alone[:1]), *(e for e in made if e.kind == HARMLESS)]


def _explain(said: MessageMatch, target: Target | None, model: ModelContext | None) -> Explanation | None:
    message = said.message
    meaning = lookup_function(message.lookup)(said, target) if message.lookup else Meaning()
    if meaning is None:
        return None
    names = _Names(said.names)
    return Explanation(
        name=message.name,
        code=meaning.code or message.code,
        kind=message.kind,
        quote=said.quote,
        count=said.count,
        names=said.names,
        means=[message.means.format_map(names), *meaning.facts],
        ways_out=[*meaning.ways_out, *(way.format_map(names) for way in message.ways_out)],
        on_target=meaning.on_target,
        concerned=model.concerned(said) if model else None,
    )


class _Names(dict[str, str]):
    """The names in a message; what this wording does not name is called by its kind."""

    def __missing__(self, name: str) -> str:
        return f"the {name}"


def _nearest(text: str) -> str | None:
    """The wording with most words in common with a text, if it has most of its words."""
    words = _words(text)
    best: tuple[float, int, str] = (0.5, 0, "")
    for message in messages():
        for pattern in message.says:
            own = _words(pattern.plain)
            if len(own) > 2:
                best = max(best, (len(own & words) / len(own), len(own), pattern.plain))
    return best[-1] or None


def _words(text: str) -> set[str]:
    """The words of a text as far as they are alike when misspelled: by how they begin."""
    return {word[:ALIKE] for word in WORD.findall(text.lower())}


def explain_texts(texts: Sequence[str], **options: Any) -> Explained:
    """Explain texts that are at hand."""
    return explain_log((line for text in texts for line in text.splitlines(keepends=True)), **options)
