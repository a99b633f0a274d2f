"""Format a certificate as JSON; infinite numbers, which JSON does not have, are null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from tfport.fix.certify.certificate import Certificate
from tfport.fix.certify.compare import OutputDifference
from tfport.fix.certify.input_records import HOW
from tfport.fix.certify.trials import GENERATOR
from tfport.fix.certify.verification import AnswerComparison, Verification

VERSION = 1


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tfport": certificate.tfport,
        "verdict": certificate.verdict,
        "statement": certificate.verification.statement,
        "target": certificate.target,
        "input": {"path": certificate.source, "sha256": certificate.source_digest},
        "output": {"path": certificate.output, "sha256": certificate.output_digest},
        "keeps": certificate.keeps,
        "rules": [{**asdict(rule), "nodes": list(rule.nodes)} for rule in certificate.rules],
        **verification_json(certificate.verification),
    }


def verification_json(verification: Verification) -> dict[str, Any]:
    return {
        "signatures": verification.signatures,
        "tolerance": {"rtol": verification.rtol, "atol": verification.atol},
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
        "stopped": comparison.stopped,
        "outputs": _differences(comparison.outputs),
        "not_finite": _differences(comparison.not_finite),
    }


def _differences(outputs: Mapping[str, OutputDifference]) -> dict[str, Any]:
    return {
        name: {"dtype": d.dtype, "alike": d.alike, "trials": d.trials, "elements": d.elements,
               "unequal": d.unequal, "beyond": d.beyond, "absolute": _number(d.absolute),
               "relative": _number(d.relative), "ulps": d.ulps, "problem": d.problem}
        for name, d in outputs.items()
    }  # fmt: skip


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
