"""The MLflow flavor `tfport`: a model that `mlflow.pyfunc` loads without TensorFlow.

    tfport.mlflow.save_model("export/1", "saved")
    mlflow.pyfunc.load_model("saved").predict(dataframe)

The original model is copied unchanged. `mlflow models serve`, `spark_udf` and the registry use it like any
other pyfunc model; `spark_udf` needs the names and types of columns:

    mlflow.pyfunc.spark_udf(spark, "saved", result_type="scores array<float>")(struct("x"))

Needs `tfport[mlflow]`.
"""

# ruff: noqa: E402  first the sentence for what is not installed

from __future__ import annotations

from tfport.extras import require

require("mlflow", "tfport.mlflow")

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from mlflow import pyfunc
from mlflow.models import Model as MlflowModel

from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import scoring_options
from tfport.errors import Error

FLAVOR = "tfport"
DATA, MODEL, OPTIONS = "tfport", "model", "options.json"


def save_model(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    mlflow_model: MlflowModel | None = None,
    *,
    pip_requirements: list[str] | None = None,
    **options: Any,
) -> None:
    """Write a model in MLflow's format to a new folder. `options` are those of `tfport.batch`."""
    scoring_options(**options)
    target, source = Path(path), Path(model)
    if target.exists() and any(target.iterdir()):
        raise Error(f"{target}: already exists and is not empty; choose another path")
    data = target / DATA
    data.mkdir(parents=True)
    copy = data / (MODEL + ("" if source.is_dir() else source.suffix))
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        shutil.copy(source, copy)
    (data / OPTIONS).write_text(json.dumps({"model": copy.name, "options": options}), encoding="utf-8")
    described = mlflow_model or MlflowModel()
    requirements = pip_requirements or [f"tfport[batch]=={version('tfport')}"]
    (target / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
    described.add_flavor(FLAVOR, data=DATA, tfport_version=version("tfport"))
    pyfunc.add_to_model(described, loader_module=__name__, data=DATA)
    described.save(str(target / "MLmodel"))


def log_model(model: str | os.PathLike[str], name: str = "model", **options: Any) -> Any:
    """Log a model to the active run; `registered_model_name` and the like are MLflow's own options."""
    return MlflowModel.log(artifact_path=None, name=name, flavor=_THIS, model=model, **options)


def load_pyfunc(path: str | os.PathLike[str]) -> PyfuncModel:
    """The model of a folder that `save_model` wrote."""
    return _load_pyfunc(str(Path(path) / DATA))


def _load_pyfunc(path: str) -> PyfuncModel:
    """Called by `mlflow.pyfunc.load_model`."""
    stored = json.loads((Path(path) / OPTIONS).read_text("utf-8"))
    return PyfuncModel(BatchScorer(str(Path(path) / stored["model"]), scoring_options(**stored["options"])))


class PyfuncModel:
    """Predicts for a pandas DataFrame, or arrays by name."""

    def __init__(self, scorer: BatchScorer) -> None:
        self.scorer = scorer

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        if isinstance(model_input, dict):
            columns = {n: list(v) if getattr(v, "ndim", 1) > 1 else v for n, v in model_input.items()}
            table = pa.table(
                {n: pa.array([getattr(x, "tolist", lambda x=x: x)() for x in v]) for n, v in columns.items()}
            )
        else:
            table = pa.Table.from_pandas(model_input, preserve_index=False)
        return _frame(self.scorer.score_table(table))


def _frame(table: pa.Table) -> Any:
    """A DataFrame. A missing text is None: pandas 3 has NaN, and the server of MLflow would write that."""
    frame = table.to_pandas()
    for field in table.schema:
        if pa.types.is_string(field.type):
            texts = frame[field.name].astype(object)
            frame[field.name] = texts.where(texts.notna(), None)
    return frame


class _Flavor:
    """What `Model.log` needs: a module with `save_model`."""

    __name__ = __name__

    @staticmethod
    def save_model(path: str, mlflow_model: MlflowModel, model: str, **options: Any) -> None:
        save_model(model, path, mlflow_model, **options)


_THIS = _Flavor()
