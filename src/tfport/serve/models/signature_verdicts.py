"""Which signatures of a model run here; printed when a server starts."""

from __future__ import annotations

from tfport.check.check_report import check_model
from tfport.check.findings.finding import ERROR
from tfport.graph.model import Model
from tfport.runtime.custom.registry import Registry
from tfport.runtime.own_target import own_target
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """One signature, and the reasons why it cannot or may not run."""

    signature: str
    runs: bool | None
    """None if it depends on the request."""
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        verdict = {True: "runs", False: "cannot run", None: "may fail"}[self.runs]
        return f"{self.signature}: {verdict}" + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def signature_verdicts(model: Model, registry: Registry | None = None) -> list[SignatureVerdict]:
    """Return what `tfport check --on tfport` finds, per signature."""
    report = check_model(model, [own_target(registry)], ways_out=False)
    errors = [f for f in report.findings if f.stage is not None and f.severity == ERROR]
    verdicts = []
    for name in model.signatures:
        errors_here = [f for f in errors if name in f.signatures]
        certain = any(f.decides and not f.doubt for f in errors_here)
        reasons = tuple(dict.fromkeys(f.message for f in errors_here))
        runs = None if errors_here and not certain else not errors_here
        verdicts.append(SignatureVerdict(name, runs, reasons))
    return verdicts
