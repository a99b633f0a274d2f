"""Repeat the comparison of a certificate: same models, same inputs, same tolerances.

`verify_certificate(path)` checks the digests of both models, makes the trials again from their seeds,
and compares; with a proof the target runs again too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import Error
from tfport.fix.certify.certificate_record import CertificateRecord, ModelRecord, read_certificate
from tfport.fix.certify.other_runner import OtherRunner
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.certify.trials import GIVEN
from tfport.fix.certify.verification import ALIKE, DIFFERS, NOT_COMPARED, TrialRecord, Verification
from tfport.fix.certify.verify import verify
from tfport.fix.export import saved_with, source_for
from tfport.fix.lite.interpreter import LiteInterpreter
from tfport.fix.options import FixOptions, SignatureChanges
from tfport.fix.prove.target_runners import target_runners
from tfport.formats.digests import model_digest, model_files
from tfport.formats.find import find_model
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.frontends.load import load_any_model, load_with_weights
from tfport.graph.model import Model
from tfport.rendering import RenderedResult
from tfport.runtime.custom.registry import PROCESS_WIDE, definitions_with
from tfport.startup.dataclass import dataclass, field

VERIFIED, CHANGED = "verified", "changed"
EXIT_CODES = {VERIFIED: 0, CHANGED: 1, DIFFERS: 1, NOT_COMPARED: 2}


@dataclass(repr=False)
class CertificateCheck(RenderedResult):
    """What came of repeating a comparison."""

    certificate: CertificateRecord
    verdict: str
    """`verified`, `changed` (a model is not the one of the certificate), `differs` or `not compared`."""
    statement: str
    notes: list[str] = field(default_factory=list)
    """What was not repeated, or not in the same way."""
    verification: Verification | None = None

    @property
    def ok(self) -> bool:
        return self.verdict == VERIFIED

    @property
    def exit_code(self) -> int:
        """0 verified, 1 changed or different, 2 not compared."""
        return EXIT_CODES[self.verdict]


def verify_certificate(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    prove: bool = False,
    pythons: Sequence[str] = (),
    runs: int | None = None,
    progress: Callable[[str], None] = lambda doing: None,
) -> CertificateCheck:
    """Repeat the comparison of a certificate."""
    record = read_certificate(path)
    source = _path_of(record, record.source, model, "the original", "MODEL --verify CERTIFICATE")
    written = _path_of(record, record.output, output, "the rewritten model", "--verify CERTIFICATE -o OUT")
    pairs = [("the original", record.source, source), ("the rewritten model", record.output, written)]
    apart = None
    if record.weights is not None:
        apart = _path_of(
            record, record.weights, weights, "the file of weights", "--verify CERTIFICATE --weights FILE"
        )
        pairs.append(("the file of weights", record.weights, apart))
    if changed := [words for pair in pairs for words in _changed(*pair)]:
        return CertificateCheck(record, CHANGED, f"the model changed since: {'; '.join(changed)}")
    after = _load(written)
    before = _before(_load(source, record.tags, apart), after, _changes(record))
    if record.input_files and not inputs:
        raise Error(f"{record.path}: it compares {', '.join(record.input_files)}; pass these inputs")
    options = FixOptions(prove=prove, pythons=tuple(pythons), runs=runs)
    verification = verify(
        before,
        after,
        inputs=inputs or None,
        targets=_targets(record, after, options, progress),
        live=before.lite is None,
        progress=progress,
        **record.settings,
    )
    verdict = VERIFIED if verification.verdict == ALIKE else verification.verdict
    notes = list(_notes(record, verification))
    return CertificateCheck(record, verdict, verification.statement, notes, verification)


def _changes(record: CertificateRecord) -> SignatureChanges:
    try:
        return SignatureChanges.from_json(record.signature_changes)
    except (TypeError, AttributeError, ValueError) as error:
        raise Error(
            f"{record.path}: not a certificate of `tfport fix`: input.signature_changes: {error}"
        ) from None


def _before(original: Model, after: Model, changes: SignatureChanges) -> Model:
    """The original in the form in which it was compared."""
    if after.keras is not None and original.keras is None:
        is_saved = original.format is SAVED_MODEL
        from tfport.fix.keras.named_as_keras import compared_form

        return compared_form(original if is_saved else saved_with(original, FixOptions()), after)
    return source_for(original, after, changes)


def _load(path: str, tags: Sequence[str] = (), weights: str | None = None) -> Model:
    definitions = definitions_with(PROCESS_WIDE)
    if weights is not None:
        model = load_with_weights(find_model(path), find_model(weights), definitions)
    else:
        model = load_any_model(find_model(path), definitions, tags or None)
    model.require_graph()
    return model


def _path_of(
    record: CertificateRecord,
    model: ModelRecord,
    named: str | os.PathLike[str] | None,
    what: str,
    arguments: str,
) -> str:
    """Where a model is: as named, as recorded, or with that name beside the certificate."""
    if named is not None:
        return os.fspath(named)
    certificate = Path(record.path)
    beside = certificate.parent / Path(model.path).name
    for path in (Path(model.path), beside):
        if model.path and (path.exists() or Path(f"{path}.index").exists()):  # the prefix of a checkpoint
            return str(path)
    raise Error(
        f"{record.path}: {what} {model.path or '(without a path)'} is not there; name it: "
        f"tfport fix {arguments}"
    )


def _changed(what: str, model: ModelRecord, path: str) -> Iterator[str]:
    files = model_files(path)
    names = {name for name in {*files, *model.files} if files.get(name) != model.files.get(name)}
    if not os.path.isdir(path):  # a file may have another name, and those of a checkpoint another prefix
        names = set() if set(files.values()) == set(model.files.values()) else names
    if model.files and names:
        yield f"{what} {path} ({', '.join(sorted(names))})"
    elif not model.files and model.sha256 and model_digest(path, files) != model.sha256:
        yield f"{what} {path}"


def _targets(
    record: CertificateRecord,
    after: Model,
    options: FixOptions,
    progress: Callable[[str], None],
) -> list[OtherRunner]:
    if not (options.prove or options.pythons):
        return []
    (target, *_) = resolve_targets(record.target)
    return target_runners(_runner(after), target, options, progress)


def _runner(after: Model) -> type[OtherRunner]:
    if after.lite is not None:
        return LiteInterpreter
    from tfport.fix.keras.keras_runner import KerasRunner

    return KerasRunner if after.keras is not None else TensorFlow


def _notes(record: CertificateRecord, verification: Verification) -> Iterator[str]:
    yield from _about_inputs(record, verification.trials)
    if record.target_ran and not any(facts.is_target for facts in verification.runners_used):
        yield "the runs of the target were not repeated; --prove repeats them"


def _about_inputs(record: CertificateRecord, trials: Sequence[TrialRecord]) -> Iterator[str]:
    if any(inputs is None for inputs in record.trials.values()):
        yield (
            f"the certificate, of tfport {record.tfport}, does not have the digests of its inputs: those of "
            "this version were tried"
        )
        return
    now = {(t.signature, t.name): {i.name: i.sha256 for i in t.inputs} for t in trials}
    same = sum(now.get(key) == inputs for key, inputs in record.trials.items())
    users = [t for t in trials if t.origin == GIVEN and record.trials.get((t.signature, t.name)) is not None]
    if any(record.trials[t.signature, t.name] != now[t.signature, t.name] for t in users):
        raise Error(f"{record.path}: the inputs are not those of the certificate: their digests differ")
    if same != len(record.trials):
        yield (
            f"{same:,} of {len(record.trials):,} inputs are those of the certificate; the others are made "
            f"differently by this version than by tfport {record.tfport}"
        )
