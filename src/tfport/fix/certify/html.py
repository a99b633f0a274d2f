"""Format a certificate as a self-contained HTML page. Names come from untrusted files: each is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Template

import numpy as np

from tfport.check.console import count
from tfport.check.matrix.page.cards import text
from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.digests import HOW as MODEL_DIGEST
from tfport.fix.certify.input_records import HOW as INPUTS_DIGEST
from tfport.fix.certify.runner_facts import RunnerFacts
from tfport.fix.certify.text import HEAD, heading, rows_of, summary
from tfport.fix.certify.trials import GENERATOR
from tfport.fix.certify.verification import ALIKE, DIFFERS, NOT_COMPARED, AnswerComparison, TrialRecord
from tfport.fix.journal import NodeChange

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
        target_runs=text(certificate.target_statement),
        keeps=text(certificate.keeps),
        rules=_rules(certificate),
        changed=text(count(len(certificate.changes), "changed node")),
        changes=_table(("function", "node", "op", "rules", "became"), map(_change, certificate.changes)),
        comparisons="\n".join(map(_comparison, verification.comparisons)),
        summary=text(summary(verification)),
        trials=_table(
            ("signature", "input", "from", "seed", "the original", "", "shapes", "SHA-256"),
            map(_trial, verification.trials),
        ),
        inputs_digest=text(INPUTS_DIGEST),
        generator=text(f"{GENERATOR}, numpy {np.__version__}"),
        runners=_table(
            ("runtime", "numpy", "system", "wheel", "its SHA-256", "as target", "runs", "crashes"),
            map(_runner, verification.runners_used),
        ),
        digests=_table(
            ("", "path", "SHA-256"),
            (
                ("input", certificate.source, certificate.source_digest),
                ("output", certificate.output, certificate.output_digest),
            ),
        ),
        digest=text(MODEL_DIGEST),
        made=_table(("", ""), _made(certificate)),
        version=text(certificate.tfport),
    )


def _change(change: NodeChange) -> tuple[str, ...]:
    after = ["(structure)"] if change.after is None else [f"{node}: {op}" for node, op in change.after]
    return change.function, change.node, change.op, ", ".join(change.rules), ", ".join(after) or "(nothing)"


def _trial(trial: TrialRecord) -> tuple[str, ...]:
    seed = "" if trial.seed is None else str(trial.seed)
    shapes = ", ".join(f"{i.name} {i.dtype} {list(i.shape)}" for i in trial.inputs)
    digests = ", ".join(i.sha256 for i in trial.inputs)
    return trial.signature, trial.name, trial.origin, seed, trial.original, trial.why, shapes, digests


def _runner(facts: RunnerFacts) -> tuple[str, ...]:
    wheel = (facts.wheel.name, facts.wheel.sha256) if facts.wheel else ("", "")
    is_target = "yes" if facts.is_target else "no"
    return facts.name, facts.numpy, facts.system, *wheel, is_target, str(facts.runs), str(facts.crashes)


def _made(certificate: Certificate) -> Iterator[tuple[str, str]]:
    made = certificate.made
    yield "date", made.date
    yield "command", made.command or "(called from Python)"
    for file in made.inputs_files:
        yield "inputs", f"{file.path}, SHA-256 {file.sha256}"
    yield "tfport", f"{made.tfport}, Python {made.python}"
    yield "packages", ", ".join(f"{name} {version}" for name, version in made.packages.items())
    yield "machine", f"{made.machine}, {made.system}"


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
        f"<ul>{stopped}{refusals}</ul>{_table(HEAD, rows_of(comparison))}"
        f"<details><summary>Tolerances: |a - b| &lt;= atol + rtol * |b|</summary>"
        f"{_table(('output', 'judged as', 'rtol', 'atol'), _tolerances(comparison))}</details></section>"
    )


def _tolerances(comparison: AnswerComparison) -> Iterator[tuple[str, ...]]:
    for name, d in comparison.outputs.items():
        yield name, d.judged_as, f"{d.rtol:.3g}", f"{d.atol:.3g}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    return (
        f'<div class="scroll"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(_rows(rows))}</tbody></table></div>"
    )


def _rows(rows: Iterable[Iterable[str]]) -> Iterator[str]:
    for row in rows:
        yield f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>"
