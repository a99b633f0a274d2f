"""A Python with a TensorFlow as a runner of a verification."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfport.atlas.target import Target
from tfport.fix.certify.other_runner import WORKERS, OtherRunner
from tfport.fix.certify.runners import ModelSide, fetches
from tfport.fix.certify.trials import Trial
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.save import save_model, written_format, written_tags

KINDS = {SAVED_MODEL: "saved_model", META_GRAPH: "meta_graph"}


class TensorFlow(OtherRunner):
    """A Python with a TensorFlow."""

    runtime = "TensorFlow"
    worker = WORKERS / "tensorflow_worker.py"

    @classmethod
    def release_of(cls, target: Target) -> tuple[str, str] | None:
        return (target.build.package, target.build.version) if target.build else None

    def job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The model, saved if it is not on disk unchanged, and the tensors to fetch."""
        asked = [{"fetches": fetches(side.signatures[trial.signature])} for trial in trials]
        return {**_placed(side, folder / "model"), "trials": asked}


def live_tensorflow() -> TensorFlow | None:
    """The TensorFlow of this environment, if it is installed."""
    return TensorFlow(sys.executable, own=True) if importlib.util.find_spec("tensorflow") else None


def _placed(side: ModelSide, path: Path) -> dict[str, Any]:
    model = side.model
    job: dict[str, Any] = {
        "kind": KINDS.get(written_format(model), "graph_def"),
        "tags": written_tags(model),
        "checkpoint": None,
    }
    if model.format is META_GRAPH:
        save_model(model, path)
        checkpoint = str(path) if model.checkpoint is not None else None
        return {**job, "model": f"{path}.meta", "checkpoint": checkpoint}
    if side.path is None:
        save_model(model, path)
    return {**job, "model": os.path.abspath(side.path or path)}  # the worker runs in another folder
