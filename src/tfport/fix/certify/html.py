"""Format a certificate as a self-contained HTML page. Names come from untrusted files: each is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Template

from tfport.check.matrix.page.cards import text
from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.text import HEAD, heading, rows_of, summary
from tfport.fix.certify.verification import ALIKE, DIFFERS, NOT_COMPARED, AnswerComparison

HERE = Path(__file__).parent
MARKS = {ALIKE: "alike", DIFFERS: "differs", NOT_COMPARED: "unknown"}


def page(certificate: Certificate) -> str:
    verification = certificate.verification
    return Template((HERE / "certificate.html").read_text(encoding="utf-8")).substitute(
        title=text(f"{certificate.source}: certificate"),
        model=text(certificate.source),
        target=text(certificate.target),
        mark=MARKS[verification.verdict],
        statement=text(verification.statement),
        caveats="".join(f"<li>{text(caveat)}</li>" for caveat in verification.caveats),
        keeps=text(certificate.keeps),
        rules=_rules(certificate),
        comparisons="\n".join(map(_comparison, verification.comparisons)),
        summary=text(summary(verification)),
        trials=_table(
            ("signature", "input", "from", "the original", ""),
            ((t.signature, t.name, t.origin, t.original, t.why) for t in verification.trials),
        ),
        digests=_table(
            ("", "path", "SHA-256"),
            (
                ("input", certificate.source, certificate.source_digest),
                ("output", certificate.output, certificate.output_digest),
            ),
        ),
        version=text(certificate.tfport),
    )


def _rules(certificate: Certificate) -> str:
    if not certificate.rules:
        return "<p>No rule was needed.</p>"
    rows = ((r.keeps, f"{r.count:,}", r.name, r.doc, ", ".join(r.nodes)) for r in certificate.rules)
    return _table(("keeps", "times", "rule", "what it does", "for example"), rows)


def _comparison(comparison: AnswerComparison) -> str:
    refusals = "".join(
        f"<li>refuses <code>{text(trial)}</code>: {text(why)}</li>"
        for trial, why in comparison.only_rewritten_refuses
    )
    stopped = f"<li>{text(comparison.stopped)}</li>" if comparison.stopped else ""
    return (
        f'<section class="{MARKS[comparison.verdict]}">'
        f"<h3>{text(comparison.signature)}</h3><p>{text(heading(comparison))}</p>"
        f"<ul>{stopped}{refusals}</ul>{_table(HEAD, rows_of(comparison))}</section>"
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    return (
        f'<div class="scroll"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(_rows(rows))}</tbody></table></div>"
    )


def _rows(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    for row in rows:
        yield f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>"
