"""Score a Spark DataFrame.

    scored = tfport.spark.predict(df, "export/1", on_error="null")
    scored = df.withColumn("y", tfport.spark.predict_udf("export/1")(array("height", "width")))

`predict` (on `mapInArrow`) scores tables of numbers, strings, images and Examples; the columns of the result
are those of `tfport.batch`. `predict_udf` (on `predict_batch_udf`) is a column of a query: numbers only, no
nulls, rows of one shape. Spark 3.4 or newer, with PyArrow on the executors. The
model travels to each executor once, as a file of the job, or is read from a path that all of them see. A
Python worker loads it once; the workers of one machine map the same weights. With
`server="localhost:8500/NAME"`, the executors of a machine ask its `tfport serve`, such as for a GPU. Needs
`tfport[spark]`.
"""

# ruff: noqa: E402  first the sentence for what is not installed

from __future__ import annotations

from tfport.extras import require

require("spark", "tfport.spark")

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import FAIL, ScoringOptions, scoring_options
from tfport.errors import Error
from tfport.formats.digests import model_digest, model_files
from tfport.graph.dtypes import STRING
from tfport.runtime.freed_memory import keep_freed_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession


ROWS = 1024
"""Rows of a call of the model in a query."""


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
    name = "" if shared_path else _sent(df.sparkSession, path)
    return df.mapInArrow(_scoring(path, name, asked), from_arrow_schema(schema))


def predict_udf(
    model: str | os.PathLike[str], *, rows: int = ROWS, shared_path: bool = False, **options: Any
) -> Callable[..., Column]:
    """A function of columns, in the order of the inputs: the output, or a struct with all outputs.

    Args:
        model: The path of a model, on the driver.
        rows: How many rows a call of the model has at most.
        shared_path: Whether executors read the model from the same path; otherwise it is sent to them.
        **options: Those of `tfport.batch` that are about the model: `signature`, `outputs`, `threads`, …
    """
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    path = os.fspath(model)
    asked = scoring_options(**{"threads": 1, "keep": (), "batch_rows": rows, **options})
    if asked.on_error != FAIL:
        raise Error("predict_udf: a row that fails ends the query; `predict` takes on_error")
    scorer = BatchScorer(path, asked)
    _check_numeric(scorer)
    kinds = from_arrow_schema(scorer.schema(pa.schema(list(scorer.column_types().items()))))
    session = SparkSession.getActiveSession()
    if session is None:
        raise Error("predict_udf: no active Spark session")
    name = "" if shared_path else _sent(session, path)
    inputs = [spec.shape.dims for spec in scorer.signature.inputs.values()]
    shapes = [[size or 1 for size in dims[1:]] or None for dims in inputs if dims is not None]
    make = functools.partial(_array_function, path, name, asked, tuple(scorer.signature.inputs))
    kind = kinds if len(kinds) > 1 else kinds[0].dataType
    function: Callable[..., Column] = predict_batch_udf(
        make, return_type=kind, batch_size=rows, input_tensor_shapes=shapes
    )
    return function


def _check_numeric(scorer: BatchScorer) -> None:
    signature = scorer.signature
    for name, spec in {**signature.inputs, **signature.outputs}.items():
        if spec.dtype.base == STRING:
            raise Error(f"predict_udf: `{name}` has strings; `predict` takes them")
    for name, spec in signature.inputs.items():
        if spec.shape.dims is None or None in spec.shape.dims[1:]:
            raise Error(
                f"predict_udf: input `{name}` has shape {spec.shape}; `predict` takes rows of any shape"
            )


def _sent(session: SparkSession, path: str) -> str:
    """Add a model to the files of the job, under a name of its own; return this name."""
    digest = model_digest(path, model_files(path))[:16]
    name = f"tfport-{digest}-{Path(path).name}"
    folder = tempfile.mkdtemp(prefix="tfport-")
    copy = os.path.join(folder, name)
    if os.path.isdir(path):
        shutil.copytree(path, copy)
    else:
        shutil.copy(path, copy)
    session.sparkContext.addFile(copy, recursive=os.path.isdir(copy))
    return name


def _scoring(
    path: str, name: str, options: ScoringOptions
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        scorer = _scorer(_received(path, name), options)
        for batch in batches:
            yield scorer(batch)

    return score


def _array_function(
    path: str, name: str, options: ScoringOptions, inputs: tuple[str, ...]
) -> Callable[..., dict[str, NDArray[Any]] | NDArray[Any]]:
    """A function of arrays, with as many parameters as the model has inputs."""
    scorer = _scorer(_received(path, name), options)

    def score(*arrays: NDArray[Any]) -> dict[str, NDArray[Any]] | NDArray[Any]:
        outputs = scorer.score_arrays(dict(zip(inputs, arrays, strict=True)))
        return outputs if len(outputs) > 1 else next(iter(outputs.values()))

    parameters = [Parameter(f"input{i}", Parameter.POSITIONAL_ONLY) for i in range(len(inputs))]
    vars(score)["__signature__"] = Signature(parameters)  # Spark counts them
    return score


def _received(path: str, name: str) -> str:
    """Where this executor has the model."""
    from pyspark import SparkFiles

    return SparkFiles.get(name) if name else path


@functools.lru_cache(4)
def _scorer(path: str, options: ScoringOptions) -> BatchScorer:
    """The scorer of this Python worker, which Spark uses for many tasks."""
    keep_freed_memory()
    return BatchScorer(path, options)
