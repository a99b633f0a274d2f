"""Format a certificate as JSON; infinite numbers, which JSON does not have, are null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.compare import OutputDifference
from tfport.fix.certify.trials import GENERATOR
from tfport.fix.certify.verification import HOW, AnswerComparison, Verification
from tfport.fix.journal import NodeChange
from tfport.formats.digests import HOW as DIGEST
from tfport.formats.digests import model_digest
from tfport.rendering import json_of

VERSION = 1
WIDTH = 110


def certificate_text(certificate: Certificate) -> str:
    """The JSON as text: what fits in a line is one line, so that a change or a trial is one."""
    return _lines(certificate_json(certificate), 0) + "\n"


def _lines(value: Any, depth: int) -> str:
    line = json.dumps(value)
    if not isinstance(value, (dict, list, tuple)) or len(line) + depth <= WIDTH:
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_lines(part, depth + 1)}" for key, part in value.items()]
    else:
        parts = [_lines(part, depth + 1) for part in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    inner = (",\n" + " " * (depth + 1)).join(parts)
    return f"{begin}\n{' ' * (depth + 1)}{inner}\n{' ' * depth}{end}"


@json_of(Certificate)
def certificate_json(certificate: Certificate) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tfport": certificate.tfport,
        "verdict": certificate.verdict,
        "statement": certificate.verification.statement,
        "target": certificate.target,
        "made": asdict(certificate.made),
        "target_runs": {
            "ran": bool(certificate.target_runs),
            "statement": certificate.target_statement,
            "runs": sum(facts.runs for facts in certificate.target_runs),
            "crashes": sum(facts.crashes for facts in certificate.target_runs),
        },
        "input": {
            "path": certificate.source,
            "sha256": certificate.source_digest,
            "files": certificate.source_files,
            "tags": list(certificate.tags),
            **({"signature_changes": changes} if (changes := certificate.signature_changes) else {}),
            **({"weights": _weights(certificate)} if certificate.weights else {}),
        },
        "output": {
            "path": certificate.output,
            "sha256": certificate.output_digest,
            "files": certificate.output_files,
        },
        "sha256": DIGEST,
        "keeps": certificate.keeps,
        "rules": [{**asdict(rule), "nodes": list(rule.nodes)} for rule in certificate.rules],
        "changes": list(map(_change, certificate.changes)),
        **verification_json(certificate.verification),
    }


def _weights(certificate: Certificate) -> dict[str, Any]:
    sha256 = model_digest(certificate.weights, certificate.weights_files)
    return {"path": certificate.weights, "sha256": sha256, "files": certificate.weights_files}


def _change(change: NodeChange) -> dict[str, Any]:
    """A changed node; empty fields are left out, as there may be tens of thousands."""
    row: dict[str, Any] = {"node": change.node, "op": change.op, "rules": change.rules}
    if change.function:
        row["function"] = change.function
    if change.after is not None:
        row["after"] = dict(change.after)
    return row


def verification_json(verification: Verification) -> dict[str, Any]:
    return {
        "signatures": verification.signatures,
        "same_as": verification.same_as,
        "tolerance": {"rtol": verification.rtol, "atol": verification.atol},
        "narrowest": {
            signature: {name: {"type": str(t), "node": t.node} for name, t in outputs.items()}
            for signature, outputs in verification.narrowest.items()
        },
        "trials": [
            {"signature": trial.signature, "name": trial.name, "origin": trial.origin, "finite": trial.finite,
             "original": trial.original, "why": trial.why,
             "seed": None if trial.seed is None else str(trial.seed),
             "inputs": [asdict(record) for record in trial.inputs]}
            for trial in verification.trials
        ],
        "generator": {"version": GENERATOR, "numpy": np.__version__, "inputs_sha256": HOW},
        "settings": verification.settings,
        "runners": [{"name": facts.name, **asdict(facts)} for facts in verification.runners_used],
        "comparisons": [_comparison(trial) for trial in verification.comparisons],
        "caveats": verification.caveats,
        "not_asked": [{"runner": runner, "why": why} for runner, why in verification.not_asked],
        "left_out": verification.left_out,
    }  # fmt: skip


def _comparison(comparison: AnswerComparison) -> dict[str, Any]:
    refuses = [{"trial": name, "why": why} for name, why in comparison.only_rewritten_refuses]
    return {
        "signature": comparison.signature,
        "runner": comparison.runner,
        "reference": comparison.reference,
        "verdict": comparison.verdict,
        "runs": comparison.runs,
        "answered": comparison.answered,
        "refused": comparison.refused,
        "only_rewritten_answers": comparison.only_rewritten_answers,
        "only_rewritten_refuses": refuses,
        "random": comparison.random,
        **({"unstable": comparison.unstable} if comparison.unstable else {}),
        "stopped": comparison.stopped,
        "failed": list(comparison.failed.lines()) if comparison.failed is not None else None,
        "outputs": _differences(comparison.outputs),
        "not_finite": _differences(comparison.not_finite),
    }


def _differences(outputs: Mapping[str, OutputDifference]) -> dict[str, Any]:
    return {
        name: {"dtype": d.dtype, "alike": d.alike, "trials": d.trials, "elements": d.elements,
               "unequal": d.unequal, "beyond": d.beyond, "absolute": _number(d.absolute),
               "relative": _number(d.relative), "ulps": d.ulps, "problem": d.problem,
               "judged_as": d.judged_as, "rtol": d.rtol, "atol": d.atol, "worst": _worst(d),
               **({"largest": d.largest, "rows": d.rows, "same_argmax": d.same_argmax} if d.rows else {})}
        for name, d in outputs.items()
    }  # fmt: skip


def _worst(difference: OutputDifference) -> dict[str, Any] | None:
    """The element that is furthest beyond the tolerance."""
    if (worst := difference.worst) is None:
        return None
    where = {"trial": worst.trial, "index": list(worst.index)}
    return {**where, "answer": worst.answer, "expected": worst.expected, "excess": _number(worst.excess)}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
