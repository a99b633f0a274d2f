"""Which releases are meant by the version of a GraphDef."""

from __future__ import annotations

from tfport.atlas.atlas import atlas
from tfport.atlas.spans import STOCK, Span, on_x86, spans
from tfport.atlas.target import Target
from tfport.check.explain.lookup import Meaning, MessageMatch


def op_too_old(said: MessageMatch, target: Target | None) -> Meaning:
    advice = {
        chapter.definition.deprecation.explanation: None
        for chapter in atlas().definitions(said.names["op"])
        if chapter.definition is not None and chapter.definition.deprecation.explanation
    }
    versions = _version_facts(said.names["removed"], said.names["found"])
    return Meaning([*(f"TensorFlow's advice: {text}" for text in advice), *versions])


def graph_versions(said: MessageMatch, target: Target | None) -> Meaning:
    roles = {"binary": "The binary", "writer": "The writer of the model"}
    facts = [
        f"{who} is {_releases_of(int(said.names[name]))} (GraphDef version {said.names[name]})."
        for name, who in roles.items()
    ]
    return Meaning(facts)


def graph_needs_newer(said: MessageMatch, target: Target | None) -> Meaning:
    numbers = [said.names[name] for name in ("wanted", "have", "found") if name in said.names]
    return Meaning(_version_facts(*numbers), on_target=_version_on_target(target))


def _version_on_target(target: Target | None) -> list[str]:
    version = (target.build.facts.get("graph_def") or {}).get("producer") if target and target.build else None
    return [f"{target.name} has GraphDef version {version}"] if target and version else []


def _version_facts(*numbers: str) -> list[str]:
    return [f"GraphDef version {n} is {_releases_of(int(n))}." for n in dict.fromkeys(numbers)]


def _releases_of(version: int) -> str:
    """The releases of TensorFlow with a GraphDef version; those around it, where none has it."""
    stock = on_x86(atlas(), STOCK)
    known = [(b.facts["graph_def"]["producer"], b) for b in stock if b.facts.get("graph_def")]
    exact = spans(stock, {build.number for number, build in known if number == version})
    if exact:
        return f"TensorFlow {', '.join(map(_closed, exact))}"
    before = max((n for n, _ in known if n < version), default=None)
    after = min((n for n, _ in known if n > version), default=None)
    if after is None:
        return f"newer than TensorFlow {stock[-1].version}, the newest that is recorded"
    if before is None:
        return "older than all that is recorded"
    ends = [next(build.version for n, build in known if n == end) for end in (before, after)]
    return f"a build between the releases {ends[0]} and {ends[1]}"


def _closed(span: Span) -> str:
    return span.first if span.first == span.last else f"{span.first} to {span.last}"
