"""A model that the target accepts, and what shows that it answers alike: the whole way.

Forms are tried from the one that changes least (`attempt`); the first that the target
resolves is compared with the model as it was (`proof`). What no form makes acceptable is
told as it stands in the one that comes closest.
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.atlas.target import OURS, Target
from tfport.check.check import RUNS
from tfport.check.findings.finding import ERROR
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt, answers_of, attempt, forms_for
from tfport.fix.certify.verify import verify
from tfport.fix.options import FixOptions
from tfport.fix.result import Fixed
from tfport.graph.model import Model

Progress = Callable[[str], None]


def fix_model(
    model: Model, target: Target, options: FixOptions, progress: Progress = lambda doing: None
) -> Fixed:
    """Rewrite a model for a target, and compare the answers where it resolves."""
    if target.kind == OURS:
        raise Error("tfport runs models as they are: `tfport check MODEL --on tfport` says which")
    if not len(model.graph):
        raise Error(f"{model.where}: {model.format.name} without a graph; there is nothing in it to rewrite")
    best = _best(model, target, options, progress)
    if not best.runs:
        return Fixed(model, target, best, None)
    progress("comparing answers")
    verification = verify(
        model,
        best.model,
        given=options.inputs or None,
        signatures=options.signatures,
        fetches=answers_of(model, options),
        only_answers=not options.fetches,
        rtol=options.rtol,
        atol=options.atol,
        pythons=options.pythons,
        progress=progress,
    )
    return Fixed(model, target, best, verification)


def _best(model: Model, target: Target, options: FixOptions, progress: Progress) -> FixAttempt:
    """The first form that the target accepts, or the one that leaves the fewest errors."""
    tried: list[FixAttempt] = []
    for form in forms_for(model, options):
        progress(f"rewriting, {form.value}")
        tried.append(attempt(model, target, form, options))
        if tried[-1].runs:
            return tried[-1]
    return min(reversed(tried), key=_errors)  # of equals the last: structure does not stand in its way


def _errors(one: FixAttempt) -> int:
    stopping = {f.message for f in one.report.findings if f.severity == ERROR and f.stage}
    return len(stopping) + (one.report.verdict != RUNS)
