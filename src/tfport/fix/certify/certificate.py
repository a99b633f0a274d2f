"""The certificate of a rewritten model: the applied rules, the inputs tried, and the differences.

`str(…)` for people, `.to_json()` for programs, `.page()` for a browser. It states only what was
observed, with the digests of both models, so that the comparison can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.fix.certify.provenance import Provenance, RunnerFacts, own_version
from tfport.fix.certify.verification import Verification
from tfport.fix.journal import NodeChange
from tfport.rendering import PAGE, RenderedResult, rendered
from tfport.startup.dataclass import dataclass, field

EXACT, ROUNDING, LOSSY = "exact", "rounding", "lossy"


@dataclass(frozen=True, slots=True)
class Applied:
    """An applied rule, and its promise."""

    name: str
    keeps: str
    count: int
    nodes: Sequence[str]
    """Examples of the nodes that it changed."""
    doc: str
    """What it does, in a sentence."""


@dataclass(slots=True, repr=False)
class Certificate(RenderedResult):
    """The rules applied to a model, and the verification of the result."""

    source: str
    source_digest: str
    output: str
    output_digest: str
    target: str
    verification: Verification
    rules: list[Applied] = field(default_factory=list)
    tfport: str = field(default_factory=own_version)
    changes: Sequence[NodeChange] = ()
    """Every changed node."""
    made: Provenance = field(default_factory=Provenance)
    source_files: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file of the original, by name."""
    output_files: dict[str, str] = field(default_factory=dict)
    weights: str = ""
    """The weights of the original, if they were saved apart from its architecture."""
    weights_files: dict[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    """The tags of the MetaGraph of the original."""
    signature_changes: dict[str, Any] = field(default_factory=dict)
    """How the signatures were changed before the rewrite, as `fix.signature_changes` reads it."""
    provable: bool = True
    """Whether `--prove` can run the target."""
    proof_command: str = "tfport fix --prove"
    """The command that would run the target."""
    tried: bool = True
    """Whether rewritten models of this kind have been run in the release of the target."""

    def __post_init__(self) -> None:
        self.rules = [rule if isinstance(rule, Applied) else Applied(*rule) for rule in self.rules]

    @property
    def verdict(self) -> str:
        return self.verification.verdict

    @property
    def keeps(self) -> str:
        """The weakest promise of the applied rules."""
        order = (EXACT, ROUNDING, LOSSY)
        return max((rule.keeps for rule in self.rules), key=order.index, default=EXACT)

    @property
    def target_runs(self) -> list[RunnerFacts]:
        """The runs of the rewritten model in the target itself."""
        return [facts for facts in self.verification.runners_used if facts.is_target]

    @property
    def target_statement(self) -> str:
        """Whether the target itself was run, in a sentence."""
        if not self.target_runs:
            advice = f"; `{self.proof_command}` runs it" if self.provable else ""
            untried = "" if self.tried else "; rewritten files of this kind were not tried in this release"
            return f"the target itself was not run{untried}{advice}"
        return "; ".join(map(_was_run, self.target_runs))

    def page(self) -> str:
        """The certificate as one self-contained HTML page."""
        return str(rendered(self, PAGE))


def _was_run(facts: RunnerFacts) -> str:
    times = f"{facts.runs:,} times, each in a new process" if facts.runs > 1 else "once"
    crashes = f"{facts.crashes:,} crashed" if facts.crashes else "no crash"
    wheel = f" from {facts.wheel.name}" if facts.wheel else ""
    return f"{facts.name} on {facts.machine or 'an unknown machine'}{wheel} ran the model {times}: {crashes}"
