"""The result of a rewrite: the model, the journal of changes, what remains, and the certificate.

`str(…)` for people, `.to_json()` for programs. `.save(path)` writes the model and its
certificate if the target accepts the model and the outputs agree; otherwise it writes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from tfport.atlas.target import Target
from tfport.check.check import RUNS
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import ERROR
from tfport.check.findings.ops import UnknownOp
from tfport.check.nearest import nearest_releases
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt
from tfport.fix.certify.attestation import attestation_text
from tfport.fix.certify.certificate import Applied, Certificate
from tfport.fix.certify.json import certificate_text
from tfport.fix.certify.provenance import Provenance
from tfport.fix.certify.verification import ALIKE, NOT_COMPARED, Verification
from tfport.fix.engine import ALLOW_LOSSY, BUILDS, Stuck
from tfport.fix.journal import Journal
from tfport.fix.options import FixOptions
from tfport.fix.prove.target_runners import is_provable
from tfport.fix.rule import ANY, LOSSY, Rule
from tfport.fix.structure.large_constants import OPS, stored_with_variables
from tfport.fix.structure.saver import tensors
from tfport.fix.tried_releases import MODELS, is_tried
from tfport.formats.checkpoint.write import Tensors
from tfport.formats.digests import model_digest, model_files
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.output import CERTIFICATES, certificate_paths, new_path
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import FUNCTIONAL
from tfport.graph.save import save_model
from tfport.registry.unresolved import Question
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field, replace
from tfport.words import count

FIXED, REMAINS = "fixed", "remains"
NAME = re.compile(r"`[^`]*`")


@dataclass(repr=False)
class Fixed(RenderedResult):
    """A model rewritten for a target."""

    source: Model
    target: Target
    attempt: FixAttempt
    verification: Verification | None
    """None if the target does not accept the rewritten model."""
    rewrite: Callable[[Model, Target, FixOptions], Fixed] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )
    """Rewrites a model for another target: `remaining` says which release would take it."""
    provenance: Provenance = field(default_factory=Provenance, kw_only=True)
    """How the rewrite was asked for, for the certificate."""
    proof_command: str = field(default="tfport fix --prove", kw_only=True)
    """The command that would run the target, for the certificate."""
    looser_command: str = field(default="tfport fix --atol X", kw_only=True)
    """The command that allows larger differences."""

    @property
    def model(self) -> Model:
        return self.attempt.model

    @property
    def journal(self) -> Journal:
        return self.attempt.journal

    @property
    def verdict(self) -> str:
        """`fixed`; `remains`: the target does not accept it; `differs` or `not compared`: the outputs."""
        if self.verification is None:
            return REMAINS
        return FIXED if self.verification.verdict == ALIKE else self.verification.verdict

    @property
    def ok(self) -> bool:
        return self.verdict == FIXED

    @property
    def is_tried(self) -> bool:
        """Whether rewritten models of this kind have been run in the release of the target."""
        build = self.target.build
        return build is None or is_tried(MODELS, "tensorflow", build.version)

    @property
    def failure(self) -> str:
        """What went wrong, where nothing can be written."""
        return f"{self.target.name} does not run the rewritten model"

    @cached_property
    def remaining(self) -> list[str]:
        """Why the target does not run the model, and why no rule helps."""
        return list(remaining(self)) if self.verification is None else []

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the model before it is saved."""
        return self._certificate("")

    def save(self, path: str | os.PathLike[str], *, attestation: bool = False) -> None:
        """Write the model, `PATH.certificate.json` and `PATH.certificate.html`; raises if not `ok`.

        `attestation` also writes the certificate as an in-toto statement, `PATH.intoto.json`.
        """
        if not self.ok:
            why = self.verification.statement if self.verification else "; ".join(self.remaining)
            raise Error(f"{self.source.where}: not written for {self.target.name}: {why}")
        paths = certificate_paths(path)
        if attestation:
            paths.append(f"{paths[0].removesuffix(CERTIFICATES[0])}intoto.json")
        with ExitStack() as together:
            certificates = [together.enter_context(new_path(beside)) for beside in paths]
            written = self._write(path)
            certificate = self.certificate = self._certificate(written)
            certificates[0].write_bytes(certificate_text(certificate).encode())  # the same on every system
            certificates[1].write_bytes(certificate.page().encode())
            if attestation:
                certificates[2].write_bytes(attestation_text(certificate).encode())

    def write_model(self, path: str | os.PathLike[str]) -> None:
        """Write only the model, whatever the comparison says: to reproduce a difference."""
        self._write(path)

    def _write(self, path: str | os.PathLike[str]) -> str:
        """Write the model; returns the path of its main file or folder."""
        model, weights = self._written()
        save_model(model, path, weights)
        return f"{str(path).removesuffix('.meta')}.meta" if model.format is META_GRAPH else str(path)

    def _written(self) -> tuple[Model, Tensors | None]:
        """The model to write, and the tensors of its checkpoint if they are not those of the original."""
        if self.attempt.keys is not None:
            return self.model, tensors(self.source, self.attempt.keys)
        has_variables = all(self.target.registry.get(op) is not None for op in OPS)
        return stored_with_variables(self.model) if has_variables else (self.model, None)

    def _certificate(self, output: str) -> Certificate:
        if self.verification is None:
            raise Error(
                f"{self.source.where}: {self.target.name} does not accept it, so nothing was compared"
            )
        source = self.source.where
        source_files = model_files(source) if Path(source).exists() else {}
        output_files = model_files(output) if output else {}
        weights = self.source.keras.weights_from if self.source.keras is not None else ""
        return Certificate(
            source,
            model_digest(source, source_files),
            output,
            model_digest(output, output_files),
            self.target.requirement,
            self.verification,
            [Applied(e.name, e.keeps.value, e.count, e.examples, e.says) for e in self.journal.entries],
            changes=self.journal.changes,
            made=self.provenance,
            source_files=source_files,
            output_files=output_files,
            weights=weights,
            weights_files=model_files(weights) if weights else {},
            tags=list(self.source.meta.meta_info_def.tags) if self.source.format is SAVED_MODEL else (),
            signature_changes=self.attempt.options.signature_changes.to_json(),
            provable=is_provable(self.target),
            proof_command=self.proof_command,
            tried=self.is_tried,
        )


# Why a target does not run a rewritten model, in sentences.

MOST_REASONS = 3
CONVERTED_TOGETHER = (
    "TensorList",
    "RaggedTensorToVariant",
    "RaggedTensorFromVariant",
    "HashTable",
    "LookupTable",
)
"""Prefixes of ops whose nodes `fix.structure` converts together."""


def remaining(fixed: Fixed) -> Iterator[str]:
    """The findings with why no rule helped, structure that was not converted, and where the model runs."""
    by_op: dict[str, list[Stuck]] = {}
    for entry in fixed.attempt.stuck:
        by_op.setdefault(entry.node.op, []).append(entry)
    explained = set()
    for finding in fixed.attempt.report.findings:
        if finding.severity == ERROR and finding.stage:
            op = getattr(finding, "op", "")
            explained.add(op)
            why = f" ({_why(by_op[op])})" if op in by_op and not _is_structure(op, fixed) else ""
            yield f"{finding.code}: {finding.message}{why}"
    for op, stuck in by_op.items():
        if op not in explained:
            problem = stuck[0].problems[0]
            about = f" {problem.attr}={problem.actual}" if problem.attr else ""
            yield f"{op}{about}: {problem.question.value} No, in {count(len(stuck), 'node')} ({_why(stuck)})"
    yield from grouped(fixed.attempt.reasons)
    yield from _before_custom_ops(fixed)
    yield from _elsewhere(fixed)
    yield from _to_add(fixed)


def _is_structure(op: str, fixed: Fixed) -> bool:
    """Whether ops like this are converted all at once, and the reasons say why they were not."""
    return bool(fixed.attempt.reasons) and (op in FUNCTIONAL or op.startswith(CONVERTED_TOGETHER))


def _why(stuck: list[Stuck]) -> str:
    """The refusals of the rules for this op, the nearest to success first; else those of rules for any op."""
    op = stuck[0].node.op
    refusals = [refusal for entry in stuck for refusal in entry.refusals]
    own = [(rule, why) for rule, why in refusals if op in rule.ops]
    if not own and stuck[0].problems[0].question is not Question.OP:  # no rule for any op adds an op
        own = [(rule, why) for rule, why in refusals if ANY in rule.ops]
    ordered = sorted(own, key=lambda refusal: _distance(*refusal))
    names: dict[str, dict[str, None]] = {}
    for rule, why in ordered:
        names.setdefault(why, {})[rule.name] = None
    reasons = list(grouped(f"{', '.join(rules)}: {why}" for why, rules in names.items()))
    if not reasons:
        return "there is no rule for it"
    rest = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return "; ".join(reasons[:MOST_REASONS]) + rest


def _distance(rule: Rule, why: str) -> int:
    """How far a rule is from success: allowing it is enough, it lacks something, or it is for other nodes."""
    return 0 if rule.keeps is LOSSY and ALLOW_LOSSY in why else 1 if BUILDS in why else 2


def _before_custom_ops(fixed: Fixed) -> Iterator[str]:
    """What to fetch instead of the result of a custom op at the end of a graph without signatures."""
    if fixed.source.signatures:
        return
    graph = fixed.source.graph
    for finding in fixed.attempt.report.findings:
        node = graph.nodes.get(finding.node or "") if finding.code == UnknownOp.code else None
        if node is not None and node.inputs and not node.users:
            fetches = " ".join(f"--fetch {value}" for value in dict.fromkeys(node.inputs))
            yield f"or `{fetches}`: the graph up to `{node.name}`, without the custom op {node.op}"


def _to_add(fixed: Fixed) -> Iterator[str]:
    """The ops that a reduced build would have to register."""
    if fixed.target.kind == "reduced":
        registry = fixed.target.registry
        missing = sorted({stuck.node.op for stuck in fixed.attempt.stuck if stuck.node.op not in registry})
        if missing:
            yield f"or add {', '.join(missing)} to the build; `tfport targets header` writes the header"


def _elsewhere(fixed: Fixed) -> Iterator[str]:
    """The nearest releases on which the model runs as it is, and one for which it can be rewritten."""
    attempt, target = fixed.attempt, fixed.target
    loaders = [loader for result in attempt.report.results for loader in result.loaders]
    if target.build is None or all(result.verdict == RUNS for result in attempt.report.results):
        return
    as_it_is = nearest_releases(_subject(fixed, fixed.source), target, loaders)
    yield from as_it_is.ways_out
    known = {release.requirement for release in as_it_is.releases}
    rewritten = nearest_releases(_subject(fixed, fixed.model), target, loaders)
    for release in rewritten.releases:
        verdict = _verdict_for(fixed, release) if release.requirement not in known else None
        if verdict == FIXED:
            yield f"or rewrite it with `--for {release.requirement}`: outputs agree, and that release runs it"
        elif verdict == NOT_COMPARED:
            yield f"or rewrite it with `--for {release.requirement}`, and name inputs with `--inputs`"


def _subject(fixed: Fixed, model: Model) -> CheckedModel:
    options = fixed.attempt.options
    return CheckedModel(model, options.signatures, fetches=options.fetches, feeds=options.feeds)


def _verdict_for(fixed: Fixed, release: Target) -> str:
    """What the same command says for another release."""
    options = replace(fixed.attempt.options, pythons=(), prove=False)
    assert fixed.rewrite is not None
    return fixed.rewrite(fixed.source, release, options).verdict


def grouped(reasons: Iterable[str]) -> Iterator[str]:
    """The first of the reasons that say the same about other names, and how many more there are."""
    alike: dict[str, dict[str, None]] = {}
    for reason in reasons:
        alike.setdefault(NAME.sub("``", reason), {})[reason] = None
    for same in alike.values():
        first, *more = same
        yield f"{first} (and {len(more)} more)" if more else first
