"""Rewrite a model for a target and verify the result: the whole pass.

Forms are tried from the one that changes least (`attempt`). The first that the target runs is
compared with the original (`certify`). If the target runs none, the result describes the form
that leaves the fewest errors.
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.atlas.target import OURS, Target
from tfport.check.check import RUNS
from tfport.check.findings.finding import ERROR
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt, ModelForm, answers_of, attempt, forms_for
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.verify import verify
from tfport.fix.options import FixOptions
from tfport.fix.prove.target_runners import target_runners
from tfport.fix.result import Fixed
from tfport.graph.model import Model

Progress = Callable[[str], None]


def fix_model(
    model: Model, target: Target, options: FixOptions, progress: Progress = lambda doing: None
) -> Fixed:
    """Rewrite a model for a target, and compare the outputs if the target runs it."""
    if target.kind == OURS:
        raise Error("tfport runs models without a rewrite; `tfport check MODEL --on tfport` checks this one")
    model.require_graph()
    if not len(model.graph):
        raise Error(f"{model.where}: {model.format.name} without a graph; there is nothing to rewrite")
    best = _best(model, target, options, progress)
    if not best.runs:
        return Fixed(model, target, best, None, rewrite=fix_model)
    if not options.compare:
        return Fixed(model, target, best, Verification([]), rewrite=fix_model)
    progress("comparing outputs")
    verification = verify(
        model,
        best.model,
        inputs=options.inputs or None,
        signatures=options.signatures,
        fetches=answers_of(model, options),
        feeds=options.feeds,
        only_answers=not options.fetches,
        rtol=options.rtol,
        atol=options.atol,
        targets=target_runners(TensorFlow, target, options, progress),
        progress=progress,
    )
    return Fixed(model, target, best, verification, rewrite=fix_model)


def _best(model: Model, target: Target, options: FixOptions, progress: Progress) -> FixAttempt:
    """The first form that the target accepts, or the one that leaves the fewest errors."""
    tried: list[FixAttempt] = []
    for form in forms_for(model, target, options):
        progress(f"rewriting, {form.value}")
        tried.append(attempt(model, target, form, options))
        if tried[-1].runs:
            return tried[-1]
    # of equals the last, whose structure is converted most; but variables need not be constants
    return min(reversed(tried), key=lambda a: (_errors(a), a.form is ModelForm.FROZEN))


def _errors(attempt: FixAttempt) -> int:
    stopping = {f.message for f in attempt.report.findings if f.severity == ERROR and f.stage}
    return len(stopping) + (attempt.report.verdict != RUNS)
