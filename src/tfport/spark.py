"""Score a Spark DataFrame.

    scored = tfport.spark.predict(df, "export/1", on_error="null")

The columns of the result are those of `tfport.batch`. Spark 3.4 or newer, with PyArrow on the executors. The
model travels to each executor once, as a file of the job, or is read from a path that all of them see. A
Python worker loads it once; the workers of one machine map the same weights. Needs `tfport[spark]`.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import ScoringOptions, scoring_options
from tfport.formats.digests import model_digest, model_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def predict(
    df: DataFrame, model: str | os.PathLike[str], *, shared_path: bool = False, **options: Any
) -> DataFrame:
    """The kept columns of a DataFrame, and a column for each output.

    Args:
        df: Columns by the names of the inputs.
        model: The path of a model, on the driver.
        shared_path: Whether executors read the model from the same path; otherwise it is sent to them.
        **options: Those of `tfport.batch`: `signature`, `columns`, `outputs`, `keep`, `on_error`, …
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    path, asked = os.fspath(model), scoring_options(**{"threads": 1, **options})
    schema = BatchScorer(path, asked).schema(to_arrow_schema(df.schema))
    name = "" if shared_path else _sent(df, path)
    return df.mapInArrow(_scoring(path, name, asked), from_arrow_schema(schema))


def _sent(df: DataFrame, path: str) -> str:
    """Add a model to the files of the job, under a name of its own; return this name."""
    digest = model_digest(path, model_files(path))[:16]
    name = f"tfport-{digest}-{Path(path).name}"
    folder = tempfile.mkdtemp(prefix="tfport-")
    copy = os.path.join(folder, name)
    if os.path.isdir(path):
        shutil.copytree(path, copy)
    else:
        shutil.copy(path, copy)
    df.sparkSession.sparkContext.addFile(copy, recursive=os.path.isdir(copy))
    return name


def _scoring(
    path: str, name: str, options: ScoringOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles

        scorer = _scorer(SparkFiles.get(name) if name else path, options)
        for batch in batches:
            yield scorer(batch)

    return score


@functools.lru_cache(4)
def _scorer(path: str, options: ScoringOptions) -> BatchScorer:
    """The scorer of this Python worker, which Spark uses for many tasks."""
    return BatchScorer(path, options)
