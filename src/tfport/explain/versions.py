"""Look up which releases have a GraphDef version."""

from __future__ import annotations

from tfport.atlas.atlas import atlas
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch


def op_too_old(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of both versions in the message, and TensorFlow's advice about the op."""
    advice = {
        chapter.definition.deprecation.explanation: None
        for chapter in atlas().definitions(match.names["op"])
        if chapter.definition is not None and chapter.definition.deprecation.explanation
    }
    versions = _version_facts(match.names["removed"], match.names["found"])
    return Meaning([*(f"TensorFlow's advice: {text}" for text in advice), *versions])


def graph_versions(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of the binary and of the writer of the model."""
    roles = {"binary": "The binary", "writer": "The writer of the model"}
    facts = [
        f"{role} is {_releases_of(int(match.names[name]))} (GraphDef version {match.names[name]})."
        for name, role in roles.items()
    ]
    return Meaning(facts)


def graph_needs_newer(match: MessageMatch, target: Target | None) -> Meaning:
    """The releases of all GraphDef versions in the message."""
    numbers = [match.names[name] for name in ("wanted", "have", "found") if name in match.names]
    return Meaning(_version_facts(*numbers), on_target=_version_on_target(target))


def _version_on_target(target: Target | None) -> list[str]:
    version = (target.build.facts.get("graph_def") or {}).get("producer") if target and target.build else None
    return [f"{target.name} has GraphDef version {version}"] if target and version else []


def _version_facts(*numbers: str) -> list[str]:
    return [f"GraphDef version {n} is {_releases_of(int(n))}." for n in dict.fromkeys(numbers)]


def _releases_of(version: int) -> str:
    """The TensorFlow releases of a GraphDef version, or the releases around it if none has it."""
    stock = on_x86(atlas(), STOCK)
    known = [(b.facts["graph_def"]["producer"], b) for b in stock if b.facts.get("graph_def")]
    exact = spans(stock, {build.number for number, build in known if number == version})
    if exact:
        return f"TensorFlow {', '.join(map(_closed, exact))}"
    before = max((n for n, _ in known if n < version), default=None)
    after = min((n for n, _ in known if n > version), default=None)
    if after is None:
        return f"newer than TensorFlow {stock[-1].version}, the newest recorded release"
    if before is None:
        return "older than every recorded release"
    ends = [next(build.version for n, build in known if n == end) for end in (before, after)]
    return f"a build between the releases {ends[0]} and {ends[1]}"


def _closed(span: Span) -> str:
    return span.first if span.first == span.last else f"{span.first} to {span.last}"
