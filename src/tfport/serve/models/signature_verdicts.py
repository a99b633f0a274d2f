"""Which signatures of a model run here, and which cannot: what a server says when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from tfport.check.findings.finding import ERROR
from tfport.check.report.report import check_model
from tfport.graph.model import Model
from tfport.runtime.custom.registry import Registry
from tfport.runtime.own_target import own_target


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """One signature, and every reason why it will not or may not run."""

    signature: str
    runs: bool | None
    """None where it depends on what is asked."""
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        verdict = {True: "runs", False: "cannot run", None: "may fail"}[self.runs]
        return f"{self.signature}: {verdict}" + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def signature_verdicts(model: Model, registry: Registry | None = None) -> list[SignatureVerdict]:
    """What `tfport check --on tfport` finds, by signature."""
    report = check_model(model, [own_target(registry)], ways_out=False)
    errors = [f for f in report.findings if f.stage is not None and f.severity == ERROR]
    facts = []
    for name in model.signatures:
        stops = [f for f in errors if name in f.signatures]
        certain = any(f.decides and not f.doubt for f in stops)
        reasons = tuple(dict.fromkeys(f.message for f in stops))
        facts.append(SignatureVerdict(name, None if stops and not certain else not stops, reasons))
    return facts
