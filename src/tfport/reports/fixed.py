"""The result of a rewrite as text and JSON: the certificate, or what remains; and a repeated comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.compare import OutputDifference
from tfport.fix.certify.json import certificate_json, verification_json
from tfport.fix.certify.verification import (
    ALIKE,
    DIFFERS,
    NOT_COMPARED,
    REFUSED,
    AnswerComparison,
    Verification,
)
from tfport.fix.result import Fixed
from tfport.fix.verify_certificate import CertificateCheck
from tfport.rendering import PAGE, json_of, renderer_of
from tfport.reports.console import columns, cut_off, facts, indented, text_of, title
from tfport.reports.layout import ReportPart, Text
from tfport.static_page.page import model_entry, self_contained_page
from tfport.words import count, printable

VERSION = 1
WORDS = {ALIKE: "outputs agree", DIFFERS: "outputs differ", NOT_COMPARED: NOT_COMPARED}
STYLES = {ALIKE: "bold green", DIFFERS: "bold red", NOT_COMPARED: "bold yellow"}
MOST_OUTPUTS = 20
MOST_CAVEATS = 12
LONGEST_NAME = 26
LONGEST_MESSAGE = 300
HEAD = ("output", "type", "largest absolute", "relative", "ulps", "unequal")


@text_of(Fixed)
def fixed_text(fixed: Fixed, width: int) -> Iterator[ReportPart]:
    """Format the whole result."""
    if fixed.verification is not None:
        yield from certificate_text(fixed.certificate, width)
        if not fixed.ok:
            yield title("nothing was written", _what_to_do(fixed.verification, fixed.looser_command))
        return
    yield title(fixed.source.where, f"for {fixed.target.requirement}")
    yield indented(Text(fixed.failure, style="bold red"))
    for line in fixed.remaining:
        yield indented(Text(printable(f"- {line}")))
    entries = fixed.journal.entries
    rest = f"{count(len(entries), 'change')} would solve the other problems" if entries else ""
    yield title("nothing was written", rest)


def _what_to_do(verification: Verification, looser_command: str) -> str:
    if verification.verdict == NOT_COMPARED:
        return "`tfport fix --inputs FILE` compares other inputs"
    beyond = [d for c in verification.comparisons for d in c.outputs.values() if not d.alike]
    if beyond and not any(difference.problem for difference in beyond):
        return f"`{looser_command}` allows larger differences"
    return ""


@text_of(Certificate)
def certificate_text(certificate: Certificate, width: int) -> Iterator[ReportPart]:
    verification = certificate.verification
    yield title(certificate.source, f"for {certificate.target}")
    statement = cut_off(printable(verification.statement), LONGEST_MESSAGE)
    yield indented(Text(statement, style=STYLES[verification.verdict]))
    for caveat in verification.caveats[:MOST_CAVEATS]:
        yield indented(Text(cut_off(printable(caveat), LONGEST_MESSAGE), style="yellow"))
    yield indented(Text(cut_off(printable(certificate.target_statement), LONGEST_MESSAGE)))
    if verification.failed is not None:
        yield title("where they differ")
        for line in verification.failed.lines():
            yield indented(Text(cut_off(printable(line), LONGEST_MESSAGE)))
    yield title("rules", f"keeping: {certificate.keeps}" if certificate.rules else "no rule was needed")
    if certificate.rules:
        rows = [(rule.keeps, f"{rule.count:,}x", f"{rule.name}: {rule.doc}") for rule in certificate.rules]
        yield columns(rows, width)
    for comparison in verification.comparisons:
        yield from _comparison(comparison, width)
    yield title("tried", summary(verification))
    yield columns([(name, words) for name, words in tried(verification)], width)
    yield title("models", f"tfport {certificate.tfport}")
    yield facts(list(_models(certificate)), width)


@text_of(CertificateCheck)
def certificate_check_text(check: CertificateCheck, width: int) -> Iterator[ReportPart]:
    """A certificate whose comparison was repeated."""
    yield title(check.certificate.path, f"for {check.certificate.target}: {check.verdict}")
    style = "bold green" if check.ok else "bold red"
    yield indented(Text(cut_off(printable(check.statement), LONGEST_MESSAGE), style=style))
    for note in check.notes:
        yield indented(Text(cut_off(printable(note), LONGEST_MESSAGE), style="yellow"))
    if check.verification is not None:
        for comparison in check.verification.comparisons:
            yield from _comparison(comparison, width)


def _models(certificate: Certificate) -> Iterator[tuple[str, list[str]]]:
    """The paths and digests of both models, if they are files."""
    for name, path, digest in (
        ("input", certificate.source, certificate.source_digest),
        ("output", certificate.output, certificate.output_digest),
    ):
        if path:
            yield name, [path]
        if digest:
            yield "sha256", [digest]


def _comparison(comparison: AnswerComparison, width: int) -> Iterator[ReportPart]:
    yield title(comparison.signature, heading(comparison))
    if comparison.stopped:
        yield indented(Text(cut_off(printable(comparison.stopped), LONGEST_MESSAGE), style="red"))
    for trial, why in comparison.only_rewritten_refuses[:3]:
        yield indented(Text(cut_off(printable(f"refuses `{trial}`: {why}"), LONGEST_MESSAGE), style="red"))
    rows = list(rows_of(comparison))
    if rows:
        shown = [(cut_off(name, LONGEST_NAME), *rest) for name, *rest in rows[:MOST_OUTPUTS]]
        yield columns(shown, width, head=HEAD, right=4)
    if len(rows) > MOST_OUTPUTS:
        yield indented(Text(f"… {len(rows) - MOST_OUTPUTS:,} more; the JSON has them", style="dim"))


def heading(comparison: AnswerComparison) -> str:
    """The runners, the verdict, and the number of inputs."""
    other = comparison.reference not in ("", comparison.runner)
    beside = f", the original on {comparison.reference}" if other else ""
    runs = f", {comparison.runs} runs" if comparison.runs > 1 else ""
    verdict = WORDS[comparison.verdict]
    return f"{comparison.runner}{beside}: {verdict}, {count(comparison.answered, 'input')}{runs}"


def rows_of(comparison: AnswerComparison) -> Iterator[tuple[str, ...]]:
    """A row for each output; a second row for differences on inputs that are not finite."""
    for name, difference in comparison.outputs.items():
        yield name, *cells(difference, random=name in comparison.random)
    for name, difference in comparison.not_finite.items():
        if difference.unequal and name not in comparison.random:
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
    refused = sum(trial.original == REFUSED for trial in verification.trials)
    return f"{count(len(verification.trials), 'input')}; the original refused {refused:,}"


def tried(verification: Verification) -> Iterator[tuple[str, str]]:
    """The origins of the inputs of each signature."""
    for signature in verification.signatures:
        origins = Counter(trial.origin for trial in verification.trials if trial.signature == signature)
        yield signature, ", ".join(f"{n:,} {origin}" for origin, n in origins.items()) or "nothing"
    for signature, compared in verification.same_as.items():
        yield signature, f"the same graph as {compared}, compared once"


@json_of(Fixed)
def fixed_json(fixed: Fixed) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": fixed.source.where,
        "target": fixed.target.requirement,
        "verdict": fixed.verdict,
        "form": fixed.attempt.form.value,
        "rules": [
            {"name": e.name, "keeps": e.keeps.value, "count": e.count, "nodes": e.examples, "says": e.says}
            for e in fixed.journal.entries
        ],
        "remaining": fixed.remaining,
        "certificate": certificate_json(fixed.certificate) if fixed.verification is not None else None,
    }


@json_of(CertificateCheck)
def certificate_check_json(check: CertificateCheck) -> dict[str, Any]:
    return {
        "version": VERSION,
        "certificate": check.certificate.path,
        "verdict": check.verdict,
        "statement": check.statement,
        "notes": check.notes,
        "comparison": verification_json(check.verification) if check.verification is not None else None,
    }


@renderer_of(Certificate, PAGE)
def certificate_page(certificate: Certificate) -> str:
    """The page that `tfport fix` writes beside the model: rules, inputs tried, differences."""
    title = printable(f"{certificate.source}: certificate")
    documents = {"certificate": certificate.to_json()}
    entry = model_entry(certificate.source, "", 0)
    return self_contained_page("fix", title, entry, documents, str(certificate))
