"""A certificate as a person reads it: the verdict, what was changed, what differs, what was tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from tfport.check.console import columns, count, cut_off, facts, indented, title
from tfport.check.printable import printable
from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.compare import OutputDifference
from tfport.fix.certify.verification import (
    ALIKE,
    DIFFERS,
    NOT_COMPARED,
    REFUSED,
    AnswerComparison,
    Verification,
)

STYLES = {ALIKE: "bold green", DIFFERS: "bold red", NOT_COMPARED: "bold yellow"}
MOST_OUTPUTS = 20
MOST_CAVEATS = 12
LONGEST_NAME = 26
LONGEST_SAID = 300
HEAD = ("output", "type", "largest absolute", "relative", "ulps", "unequal")


def render(certificate: Certificate, width: int) -> Iterator[RenderableType]:
    verification = certificate.verification
    yield title(certificate.source, f"for {certificate.target}")
    said = cut_off(printable(verification.statement), LONGEST_SAID)
    yield indented(Text(said, style=STYLES[verification.verdict]))
    for caveat in verification.caveats[:MOST_CAVEATS]:
        yield indented(Text(cut_off(printable(caveat), LONGEST_SAID), style="yellow"))
    yield title("rules", f"keeping: {certificate.keeps}" if certificate.rules else "none was needed")
    if certificate.rules:
        rows = [(rule.keeps, f"{rule.count:,}x", f"{rule.name}: {rule.doc}") for rule in certificate.rules]
        yield columns(rows, width)
    for one in verification.comparisons:
        yield from _comparison(one, width)
    yield title("tried", summary(verification))
    yield columns([(name, words) for name, words in tried(verification)], width)
    yield title("models", f"tfport {certificate.tfport}")
    yield facts(list(_models(certificate)), width)


def _models(certificate: Certificate) -> Iterator[tuple[str, list[str]]]:
    """Both, as far as they are files."""
    for name, path, digest in (
        ("input", certificate.source, certificate.source_digest),
        ("output", certificate.output, certificate.output_digest),
    ):
        if path:
            yield name, [path]
        if digest:
            yield "sha256", [digest]


def _comparison(one: AnswerComparison, width: int) -> Iterator[RenderableType]:
    yield title(one.signature, heading(one))
    if one.stopped:
        yield indented(Text(cut_off(printable(one.stopped), LONGEST_SAID), style="red"))
    for trial, why in one.only_rewritten_refuses[:3]:
        yield indented(Text(cut_off(printable(f"refuses `{trial}`: {why}"), LONGEST_SAID), style="red"))
    rows = list(rows_of(one))
    if rows:
        shown = [(cut_off(name, LONGEST_NAME), *rest) for name, *rest in rows[:MOST_OUTPUTS]]
        yield columns(shown, width, head=HEAD, right=4)
    if len(rows) > MOST_OUTPUTS:
        yield indented(Text(f"… {len(rows) - MOST_OUTPUTS:,} more; the JSON has them", style="dim"))


def heading(one: AnswerComparison) -> str:
    """Who was asked, and how many answers there are."""
    beside = "" if one.reference in ("", one.runner) else f", the original on {one.reference}"
    return f"{one.runner}{beside}: {one.verdict}, {count(one.answered, 'answer')}"


def rows_of(one: AnswerComparison) -> Iterator[tuple[str, ...]]:
    """A row for each output; a second where inputs that are not finite made a difference."""
    for name, difference in one.outputs.items():
        yield name, *cells(difference, random=name in one.random)
    for name, difference in one.not_finite.items():
        if difference.unequal and name not in one.random:
            yield f"{name} (NaN, inf)", *cells(difference)


def cells(difference: OutputDifference, *, random: bool = False) -> tuple[str, str, str, str, str]:
    if random:
        return difference.dtype, "", "", "", "random"
    if difference.problem:
        return difference.dtype, "", "", "", difference.problem
    unequal = f"{difference.unequal:,} of {difference.elements:,}"
    if not difference.absolute:
        return difference.dtype, "0", "0", "0", unequal
    return (
        difference.dtype,
        _short(difference.absolute),
        _short(difference.relative),
        f"{difference.ulps:,}",
        unequal,
    )


def _short(number: float) -> str:
    return f"{number:.2g}" if math.isfinite(number) else "infinite"


def summary(verification: Verification) -> str:
    refused = sum(one.original == REFUSED for one in verification.trials)
    return f"{count(len(verification.trials), 'input')}, of which the original refused {refused:,}"


def tried(verification: Verification) -> Iterator[tuple[str, str]]:
    """For each signature, where its inputs come from."""
    for signature in verification.signatures:
        origins = Counter(one.origin for one in verification.trials if one.signature == signature)
        yield signature, ", ".join(f"{n:,} {origin}" for origin, n in origins.items()) or "nothing"
