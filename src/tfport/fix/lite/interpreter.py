"""A Python with a TensorFlow Lite interpreter as a runner of a verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfport.atlas.target import Target
from tfport.fix.certify.other_runner import WORKERS, OtherRunner
from tfport.fix.certify.runners import ModelSide
from tfport.fix.certify.trials import Trial
from tfport.formats.lite.records import LiteFile
from tfport.formats.lite.write import lite_bytes
from tfport.frontends.lite.build import file_signatures
from tfport.frontends.lite.variables import variable_types
from tfport.graph.model import Signature
from tfport.runtime.engines.litert.trusted_files import may_run_alone

MODEL = "model.tflite"
RANDOM = frozenset(("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"))


class LiteInterpreter(OtherRunner):
    """A Python with ai-edge-litert, tflite-runtime or tensorflow."""

    runtime = "TensorFlow Lite interpreter"
    worker = WORKERS / "lite_worker.py"
    reads_only_target = True
    has_signatures = False
    """Whether it runs signatures of other subgraphs than the first; old interpreters run no other one."""

    @classmethod
    def release_of(cls, target: Target) -> tuple[str, str] | None:
        return (target.lite.package, target.lite.version) if target.lite else None

    def job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The file, and for each trial the indices of its tensors; none for a model of another format."""
        file = side.model.lite
        if file is None:
            return {"model": str(folder / MODEL), "trials": [None] * len(trials)}
        (folder / MODEL).write_bytes(lite_bytes(file))
        asked = [self._asked(file, side.signatures[trial.signature]) for trial in trials]
        kept, has_state = _may_keep(file), bool(variable_types(file))
        return {"model": str(folder / MODEL), "trials": asked, "keeps": kept, "has_state": has_state}

    def order(self, job: Mapping[str, Any], trials: Sequence[Trial]) -> Sequence[int]:
        """Those of the same sizes together, as other sizes need a new interpreter; in turn with variables."""
        if job.get("has_state"):
            return range(len(trials))
        by_sizes: dict[Any, list[int]] = {}
        for i, trial in enumerate(trials):
            parts = (v if isinstance(v, tuple) else (v,) for v in trial.inputs.values())
            sizes = tuple(tuple(map(np.shape, own)) for own in parts)
            by_sizes.setdefault((trial.signature, sizes), []).append(i)
        return [i for own in by_sizes.values() for i in own]

    def _asked(self, file: LiteFile, signature: Signature) -> dict[str, Any] | None:
        """The inputs and outputs by the names of tfport's tensors; None if the interpreter cannot run it.

        They are indices in the first subgraph, and names in the signature of another one.
        """
        for key, number, inputs, outputs in file_signatures(file):
            if key != signature.name or (number and not self.has_signatures):
                continue
            tensors = file.subgraphs[number].tensors
            return {
                "signature": key if number else "",
                "inputs": {
                    spec.tensors[0]: name if number else inputs[name]
                    for name, spec in signature.inputs.items()
                },
                "outputs": {
                    spec.tensors[0]: [name if number else outputs[name], tensors[outputs[name]].type]
                    for name, spec in signature.outputs.items()
                },
            }
        return None


def _may_keep(file: LiteFile) -> bool:
    """Whether an interpreter may run several trials: nothing of one trial changes the next one's answers."""
    return may_run_alone(file) and RANDOM.isdisjoint(code.op for code in file.operator_codes)
