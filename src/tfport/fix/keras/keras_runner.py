"""A Python with a Keras as a runner of a verification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfport.atlas.target import Target
from tfport.fix.certify.other_runner import WORKERS, OtherRunner
from tfport.fix.certify.runners import ModelSide
from tfport.fix.certify.trials import Trial
from tfport.graph.model import Signature


class KerasRunner(OtherRunner):
    """A Python with keras, tf-keras, or the Keras of tensorflow."""

    runtime = "Keras"
    worker = WORKERS / "keras_worker.py"

    @classmethod
    def release_of(cls, target: Target) -> tuple[str, str] | None:
        if target.named_keras is None and target.build is not None:
            return target.build.package, target.build.version  # which installs its Keras
        return (target.keras.package, target.keras.version) if target.keras else None

    @classmethod
    def version_of(cls, target: Target) -> str:
        return target.keras.version if target.keras else ""

    def job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The file, and the tensors of its inputs and outputs by name."""
        asked = [_tensors(side.signatures[trial.signature]) for trial in trials]
        return {"model": str(Path(side.model.where).absolute()), "trials": asked}


def _tensors(signature: Signature) -> dict[str, dict[str, str]]:
    """The tensors by the names of the inputs and outputs, which are those of Keras."""
    inputs = {name: spec.tensors[0] for name, spec in signature.inputs.items()}
    return {"inputs": inputs, "outputs": {name: spec.tensors[0] for name, spec in signature.outputs.items()}}
