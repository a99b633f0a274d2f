"""Explain error messages and logs with what the atlas records.

`explain_log(lines)` finds the messages of the tables `known_messages` in a text and looks up the
names in each: since when an op is registered, which kernels exist, which releases export a
symbol. A message that occurs many times is explained once. If no message is known, the names and paths
in the text are looked up (`entities.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfport.explain.entities import clues
from tfport.explain.evidence import WeighedCause, weigh
from tfport.explain.find import MessageFinder
from tfport.explain.log import LONGEST_LINE, LogText
from tfport.explain.lookup import Meaning, MessageMatch, lookup_function, other_framework
from tfport.explain.messages import (
    ERROR,
    HARMLESS,
    KINDS_OF_ROWS,
    OUT_OF_SCOPE,
    PIP,
    WARNING,
    KnownMessage,
    fill,
    messages,
)
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.explain.model import AffectedNodes, ModelContext
    from tfport.graph.model import Model


TYPED = 300
"""The maximum length of a text that is searched again with any capitals, as people type it."""
WORD = re.compile(r"[a-z][a-z0-9]{2,}")
MOST_ALIKE = 0.85
"""How many words of a known wording a line has at least that is near to it."""
PREFIX_LENGTH = 4
"""Words count as equal if their first characters are equal."""


@dataclass
class Explanation:
    """A message and what it means for the names in it."""

    name: str
    code: str | None
    kind: str
    quote: str
    count: int
    names: dict[str, str]
    means: list[str]
    """What it means whatever the cause."""
    causes: list[WeighedCause]
    """The cause, if the text decides it; otherwise the possible ones."""
    ways_out: list[str]
    """What to do; first what the named cause needs."""
    on_target: list[str]
    links: dict[int, int]
    """The exceptions that it occurs in, as in `MessageMatch`."""
    affected: AffectedNodes | None = None
    """The nodes of the model that the message is about."""


@dataclass(repr=False)
class Explained(RenderedResult):
    """All messages recognized in a text."""

    explanations: list[Explanation] = field(default_factory=list)
    nearest: str | None = None
    """If nothing was recognized, the known message with the most words in common."""
    more: int = 0
    """The number of further messages, beyond the limit of different ones."""
    is_cut: bool = False
    """Whether the text was too long, so that its end was not read."""
    target: str | None = None
    model: str | None = None
    out_of_scope: str | None = None
    """If nothing was recognized but a message that no record explains, what that one is about."""
    clues: list[str] = field(default_factory=list)
    """If nothing was recognized, what is recorded about the names and paths in the text."""

    @property
    def exit_code(self) -> int:
        return 0 if self.explanations else 1


def explain_log(
    lines: Iterable[str], *, target: Target | None = None, model: Model | None = None
) -> Explained:
    """Explain every message that is recognized in a text of any length."""
    text, finder = LogText(lines), MessageFinder()
    context = _model_context(model, target) if model is not None else None
    explanations = _explanations(finder.read(text), target, context)
    if not explanations and len(text.first) > 1:  # a terminal may have wrapped lines within words
        whole = "".join(line.rstrip("\r\n") for line in text.first)
        explanations = _explanations(finder.read([whole]), target, context)
    if not explanations and len(title := " ".join(text.first)) <= TYPED:
        explanations = _explanations(finder.read([title], any_case=True), target, context)
    explained = Explained(
        [explanation for explanation in explanations if explanation.kind != OUT_OF_SCOPE],
        more=finder.more,
        is_cut=text.is_cut,
        target=target.requirement if target else None,
        model=model.where if model else None,
    )
    if not explained.explanations and explanations:
        explained.out_of_scope = explanations[0].means[0]
    elif not explanations:
        explained.nearest = _nearest(text.first) if len("".join(text.first)) <= TYPED else None
        explained.clues = clues("".join(text.first)[:LONGEST_LINE])
    return explained


def _model_context(model: Model, target: Target | None) -> ModelContext:
    from tfport.explain.model import ModelContext  # imported here: most messages come without a model

    return ModelContext(model, target)


def _explanations(
    matches: list[MessageMatch], target: Target | None, model: ModelContext | None
) -> list[Explanation]:
    """Explain matches, errors first; messages that only name a place only if there are no other errors."""
    explained = _explained(_with_names(_without_source_lines(matches)), target, model)
    consequences = {name for _, row in explained for name in row.instead_of}
    explained = [(e, row) for e, row in explained if row.name not in consequences]
    relevant = [e for e, _ in _of_first_exceptions(explained)]
    only_alone = {match.message.name for match in matches if match.message.only_alone}
    by_kind = {kind: [e for e in relevant if e.kind == kind] for kind in KINDS_OF_ROWS}
    errors = [e for e in by_kind[ERROR] if e.name not in only_alone]
    explanations = [*(errors or by_kind[ERROR][:1]), *by_kind[WARNING], *by_kind[HARMLESS]]
    return [*explanations, *by_kind[OUT_OF_SCOPE][:1]]


def _explained(
    matches: list[MessageMatch], target: Target | None, model: ModelContext | None
) -> list[tuple[Explanation, KnownMessage]]:
    """The explanations of matches with their rows, without those within one that is explained."""
    explained: dict[int, tuple[Explanation, KnownMessage]] = {}
    for match in matches:
        if not any(id(other) in explained for other in match.within) and (
            explanation := _explain(match, target, model)
        ):
            explained[id(match)] = explanation, match.message
    return _without_repetitions(explained.values())


def _of_first_exceptions(
    explained: list[tuple[Explanation, KnownMessage]],
) -> list[tuple[Explanation, KnownMessage]]:
    """Drop what is only said by exceptions that follow from one that is explained."""
    first: dict[int, int] = {}
    for explanation, row in explained:
        if row.kind == ERROR and not row.only_alone:
            for chain, link in explanation.links.items():
                first[chain] = min(link, first.get(chain, link))
    return [
        (explanation, row)
        for explanation, row in explained
        if any(link <= first.get(chain, link) for chain, link in explanation.links.items())
    ]


def _without_repetitions(
    explained: Iterable[tuple[Explanation, KnownMessage]],
) -> list[tuple[Explanation, KnownMessage]]:
    """Keep the first of the explanations of a row that say the same."""
    by_content: dict[tuple[str, ...], tuple[Explanation, KnownMessage]] = {}
    for explanation, row in explained:
        content = (row.name, *explanation.means, *(cause.means for cause in explanation.causes))
        if content in by_content:  # two wordings of one message often stand beside each other
            first = by_content[content][0]
            first.count = max(first.count, explanation.count)
            for chain, link in explanation.links.items():
                first.links[chain] = min(link, first.links.get(chain, link))
        else:
            by_content[content] = explanation, row
    return list(by_content.values())


def _without_source_lines(matches: list[MessageMatch]) -> list[MessageMatch]:
    """Drop matches in lines of source code of a traceback, where the names are still `%s`."""
    complete = {match.message.name for match in matches if not _is_source_line(match)}
    return [match for match in matches if match.message.name not in complete or not _is_source_line(match)]


def _with_names(matches: list[MessageMatch]) -> list[MessageMatch]:
    """Drop matches without names, if others of the same row have names."""
    named = {match.message.name for match in matches if any(match.names.values())}
    return [m for m in matches if any(m.names.values()) or m.message.name not in named]


def _is_source_line(match: MessageMatch) -> bool:
    return any(name.startswith(("%", "{")) for name in match.names.values())


def _explain(match: MessageMatch, target: Target | None, model: ModelContext | None) -> Explanation | None:
    message = match.message
    if not _applies(match):
        return None
    framework = other_framework(match.before + match.text) if message.of_any_framework else None
    if framework:
        meaning: Meaning | None = _of_other_framework(match, framework)
    else:
        meaning = lookup_function(message.lookup)(match, target) if message.lookup else Meaning()
    if meaning is None:
        return None
    names = match.names
    of_row = () if meaning.replaces else message.causes
    causes = weigh([*meaning.causes, *of_row], match.circumstances, names)
    for cause in causes:
        cause.ways_out = [_with_versions(way, match, target) for way in cause.ways_out]
    ways_out = [*meaning.ways_out, *(fill(way, names) for way in message.ways_out if not meaning.replaces)]
    return Explanation(
        name=message.name,
        code=meaning.code or message.code,
        kind=message.kind,
        quote=match.quote,
        count=max(1, match.count),
        names=names,
        means=[*([] if meaning.replaces else [fill(message.means, names)]), *meaning.facts],
        causes=causes,
        ways_out=[
            *(way for cause in causes if cause.named for way in cause.ways_out),
            *(_with_versions(way, match, target) for way in ways_out),
        ],
        on_target=meaning.on_target,
        links=match.links,
        affected=model.affected(match) if model else None,
    )


def _with_versions(way: str, match: MessageMatch, target: Target | None) -> str:
    if PIP.search(way) is None:
        return way
    from tfport.explain.builds import with_versions  # imported here: few ways out have a package

    return with_versions(way, match, target)


def _applies(match: MessageMatch) -> bool:
    """Whether the text around a message is as its row demands."""
    message, evidence = match.message, match.circumstances.evidence
    return (not message.only_if or any(map(evidence, message.only_if))) and not any(
        map(evidence, message.unless)
    )


def _of_other_framework(match: MessageMatch, framework: str) -> Meaning:
    means = fill(match.message.means, match.names).replace("TensorFlow", framework)
    ways = [
        f"install the build of {framework} for this GPU and its driver",
        "nvidia-smi shows the driver, and which process uses the memory",
    ]
    return Meaning([f"{framework} printed it, not TensorFlow.", means], ways, replaces=True)


def _nearest(lines: Sequence[str]) -> str | None:
    """The known wording of which a line has nearly all words."""
    best: tuple[float, int, str] = (MOST_ALIKE, 0, "")
    typed = [words for line in lines if (words := _words(line))]
    for message in messages():
        for pattern in message.says if not message.only_if else ():
            known = _words(pattern.plain)
            if len(known) > 2:
                alike = max((len(known & words) / len(known) for words in typed), default=0)
                best = max(best, (alike, len(known), pattern.plain))
    return best[-1] or None


def _words(text: str) -> set[str]:
    """The beginnings of the words of a text, so that misspelled words still match."""
    return {word[:PREFIX_LENGTH] for word in WORD.findall(text.lower())}


def explain_texts(texts: Sequence[str], **options: Any) -> Explained:
    """Explain texts that are already in memory."""
    return explain_log((line for text in texts for line in text.splitlines(keepends=True)), **options)
