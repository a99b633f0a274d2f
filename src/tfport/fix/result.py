"""The result of a rewrite: the model, the journal of changes, what remains, and the certificate.

`str(…)` for people, `.to_json()` for programs. `.save(path)` writes the model and its
certificate if the target accepts the model and the outputs agree; otherwise it writes nothing.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from tfport.atlas.target import Target
from tfport.errors import Error
from tfport.fix.attempt import FixAttempt
from tfport.fix.certify.certificate import Applied, Certificate
from tfport.fix.certify.digests import model_digest, model_files
from tfport.fix.certify.json import certificate_text
from tfport.fix.certify.provenance import Provenance
from tfport.fix.certify.verification import ALIKE, Verification
from tfport.fix.journal import Journal
from tfport.fix.prove.target_runners import is_provable
from tfport.fix.structure.large_constants import OPS, stored_with_variables
from tfport.fix.structure.saver import tensors
from tfport.formats.checkpoint.write import Tensors
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.output import new_path
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model
from tfport.graph.save import save_model
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field

FIXED, REMAINS = "fixed", "remains"


@dataclass
class Fixed(RenderedResult):
    """A model rewritten for a target."""

    source: Model
    target: Target
    attempt: FixAttempt
    verification: Verification | None
    """None if the target does not accept the rewritten model."""
    provenance: Provenance = field(default_factory=Provenance, kw_only=True)
    """How the rewrite was asked for, for the certificate."""

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
    def failure(self) -> str:
        """What went wrong, where nothing can be written."""
        return f"{self.target.name} does not run the rewritten model"

    @cached_property
    def remaining(self) -> list[str]:
        """Why the target does not run the model, and why no rule helps."""
        from tfport.fix.remaining import remaining

        return list(remaining(self)) if self.verification is None else []

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the model before it is saved."""
        return self._certificate("")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, `PATH.certificate.json` and `PATH.certificate.html`; raises if not `ok`."""
        if not self.ok:
            why = self.verification.statement if self.verification else "; ".join(self.remaining)
            raise Error(f"{self.source.where}: not written for {self.target.name}: {why}")
        beside = str(path).removesuffix(".meta")
        with ExitStack() as together:
            certificates = [
                together.enter_context(new_path(f"{beside}.certificate.{end}")) for end in ("json", "html")
            ]
            written = self._write(path)
            certificate = self.certificate = self._certificate(written)
            certificates[0].write_text(certificate_text(certificate))
            certificates[1].write_text(certificate.page())

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
            tags=list(self.source.meta.meta_info_def.tags) if self.source.format is SAVED_MODEL else (),
            provable=is_provable(self.target),
        )
