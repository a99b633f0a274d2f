"""Rewrite a Keras file for another release of Keras, and verify the result.

The configuration is written in the words of the target (`config_writer`), with other layers where the
target computes something else (`replacements`) and the weights in its layout (`weights`). The written file
is read again, checked against the target and compared with the original.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from tfport.atlas.keras_releases import KERAS_CORE
from tfport.atlas.target import Target
from tfport.check.check_report import CheckReport, check_model
from tfport.check.findings.finding import ERROR
from tfport.errors import CannotRun, Error
from tfport.fix.attempt import FixAttempt, ModelForm
from tfport.fix.certify.verify import Progress, verify
from tfport.fix.journal import Journal
from tfport.fix.keras.config_writer import ConfigWriter
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.implied_masks import MASK, without_implied_masks
from tfport.fix.keras.keras_runner import KerasRunner
from tfport.fix.keras.operators import with_operators_of
from tfport.fix.keras.replacements import HARD_SIGMOID, with_causal_masks_of, with_explicit_hard_sigmoid
from tfport.fix.keras.weights import WeightTransfer, by_layer, by_path, scaled_cells
from tfport.fix.options import FixOptions
from tfport.fix.prove.target_runners import target_runners
from tfport.fix.reasons import grouped
from tfport.fix.result import Fixed
from tfport.fix.rule import ROUNDING
from tfport.formats.find import find_model
from tfport.formats.keras.records import Json, KerasFile
from tfport.formats.keras.write import write_archive, write_h5
from tfport.formats.output import new_path
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.config import model_config
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.model import KerasModel
from tfport.frontends.keras.version import KerasVersion
from tfport.frontends.load import load_any_model
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass

SUFFIXES = (".keras", ".h5", ".hdf5")
Write = Callable[[Path], None]


@dataclass
class FixedKeras(Fixed):
    """A Keras file rewritten for a release of Keras."""

    write: Write | None = None
    """Writes the file; None if it was refused."""

    @property
    def failure(self) -> str:
        return f"it cannot be rewritten for {self.target.name}" if self.attempt.reasons else super().failure

    @cached_property
    def remaining(self) -> list[str]:
        """Why the file cannot be written for the target, or what the target still does not accept."""
        if self.verification is not None:
            return []
        findings = [f for f in self.attempt.report.findings if f.severity == ERROR and f.stage]
        reasons = list(grouped(self.attempt.reasons))
        return reasons or [f"{finding.code}: {finding.message}" for finding in findings]

    def _write(self, path: str | os.PathLike[str]) -> str:
        assert self.write is not None
        with new_path(path) as temporary:
            self.write(temporary)
        return str(path)


def is_keras_output(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in SUFFIXES


def fix_keras(
    model: KerasModel,
    target: Target,
    output: str | os.PathLike[str],
    options: FixOptions,
    progress: Progress = lambda doing: None,
) -> FixedKeras:
    """Rewrite a Keras file for the Keras of a target."""
    model.require_graph()
    dialect = _dialect(model, target, output)
    rewrite = _Rewrite(model, dialect)
    if rewrite.refused:
        attempt = FixAttempt(
            ModelForm.KERAS, model, Journal(), _checked(model, target), reasons=rewrite.refused
        )
        return FixedKeras(model, target, attempt, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model{Path(output).suffix}")
        rewrite.write(path)
        written = load_any_model(find_model(str(path)), model.graph.ops.definitions)
        written.require_graph()
        attempt = FixAttempt(ModelForm.KERAS, written, rewrite.journal, _checked(written, target))
        if not attempt.runs:
            return FixedKeras(model, target, attempt, None)
        verification = verify(
            model,
            written,
            inputs=options.inputs or None,
            rtol=options.rtol,
            atol=options.atol,
            targets=target_runners(KerasRunner, target, options, progress),
            progress=progress,
        )
    return FixedKeras(model, target, attempt, verification, rewrite.write)


def _checked(model: Model, target: Target) -> CheckReport:
    return check_model(model, [target], ways_out=False)


def _dialect(model: KerasModel, target: Target, output: str | os.PathLike[str]) -> Dialect:
    release = target.keras
    if release is None or release.package == KERAS_CORE:
        raise Error(f"{target.name}: tfport writes Keras files for keras, tf-keras and tensorflow")
    dialect = Dialect(release)
    suffix = Path(output).suffix.lower()
    if suffix != dialect.suffix and not (suffix == ".hdf5" and not dialect.is_3):
        raise Error(f"{output}: for {release.name} the file must end in {dialect.suffix}")
    return dialect


class _Rewrite:
    """The parts of the new file."""

    def __init__(self, model: KerasModel, dialect: Dialect) -> None:
        file, root = model.keras, model.root
        assert file is not None
        assert file.config is not None
        assert root is not None
        self.dialect, self.journal = dialect, Journal()
        old = KerasVersion.parse(file.keras_version)
        layers = model_config(file.config, file.where)
        renamed = with_explicit_hard_sigmoid(layers, old, dialect)
        masked = [] if dialect.is_3 else without_implied_masks(layers)
        with_causal_masks_of(layers, dialect)
        operators = with_operators_of(layers, dialect)
        writer = ConfigWriter(dialect, file.where)
        self.config: Json = writer.model(layers, root)
        self.refused = list(dict.fromkeys(writer.refused))
        self._note(writer, renamed, scaled_cells(root, old, dialect.semantics), file)
        says = f"Masks are not written: {dialect.release.name} passes them from layer to layer itself."
        self.journal.changed("implied masks", says, [(layer, MASK) for layer in masked])
        says = f"Operators on tensors are written as {dialect.release.name} stores them."
        self.journal.changed("operators", says, [(layer, "operator") for layer in operators], ROUNDING)
        self.root: LayerInstance | None = None
        if self.refused:
            return
        new = KerasFile(file.where, "keras", self.config, None, dialect.version)
        try:
            self.root, _ = ModelBuilder(new, model.graph.ops).build_layers()
            transfer = WeightTransfer(old, dialect.semantics, renamed)
            self.arrays = {id(slot): array for slot, array in transfer.arrays(root, self.root)}
        except CannotRun as error:
            self.refused.append(str(error).removeprefix(f"{file.where}: "))

    def write(self, path: Path) -> None:
        assert self.root is not None
        if self.dialect.is_3:
            write_archive(path, self.config, by_path(self.root, self.arrays), self.dialect.version)
        else:
            lists = by_layer(self.root, self.arrays, self.dialect)
            write_h5(path, self.config, lists, self.dialect.version)

    def _note(
        self, writer: ConfigWriter, renamed: dict[str, str], scaled: list[str], file: KerasFile
    ) -> None:
        """Record the changes for the certificate."""
        changed = self.journal.changed
        name = self.dialect.release.name
        changed("written", f"The file is written as {name} writes it.", [(file.where, file.layout)])
        dropped = sorted(writer.dropped)
        says = f"Options that {name} does not have are dropped, as their values change no answer: "
        nodes = [(layer, option) for option in dropped for layer in writer.dropped[option]]
        changed("without options", f"{says}{', '.join(dropped)}.", nodes)
        for classes, layers in writer.replaced.items():
            says = f"Layers become others that compute the same: {classes}."
            changed(f"replaced {classes}", says, [(layer, classes) for layer in layers], ROUNDING)
        why = f"hard_sigmoid means another function in {name}:"
        nodes = [(layer, HARD_SIGMOID) for layer in renamed.values()]
        changed("hard_sigmoid as layers", f"{why} it is written as Rescaling and ReLU.", nodes, ROUNDING)
        nodes = [(layer, HARD_SIGMOID) for layer in scaled]
        changed("scaled gates", f"{why} the weights of its gates are scaled.", nodes, ROUNDING)
        if file.training is not None:
            changed("without training", "The optimizer and the settings of compile are left out.", [("", "")])
