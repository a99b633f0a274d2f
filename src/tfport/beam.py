"""A model handler for Apache Beam's RunInference.

    rows | RunInference(tfport.beam.TfportModelHandler("export/1"))

Elements are rows: dictionaries of values by column, or the values of the model's only input, such as records
of `ReadFromTFRecord`. Each prediction has the row as `example` and the outputs by name as `inference`.
RunInference makes batches, shares the model between threads, counts and times inferences, and loads another
model that a side input names. One thread computes, as a machine has a process for each processor;
`threads=4` asks for more. With `on_error="fail"`, `with_exception_handling()` gets the whole batch of the row
at fault; with `"collect"`, this row alone has an `error` and no outputs, and goes to an output of its own:

    good, failed = rows | RunInference(TfportModelHandler("export/1", on_error="collect")) | SplitFailed()

With `server="localhost:8500/NAME"`, the workers of a machine ask its `tfport serve`. Needs `tfport[beam]`.
"""

# ruff: noqa: E402  first the sentence for what is not installed

from __future__ import annotations

from tfport.extras import require

require("beam", "tfport.beam")

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from tfport.batch.input_columns import nested_lists
from tfport.batch.scorer import CONTENT, BatchScorer
from tfport.batch.scoring_options import ERROR_COLUMN, scoring_options
from tfport.runtime.freed_memory import keep_freed_memory

Row = Any
"""A dictionary of values by column, or the value of the only input."""
ARRAYS = np.ndarray | np.generic


class TfportModelHandler(ModelHandler[Row, PredictionResult, BatchScorer]):  # type: ignore[misc]
    """Scores rows with one model; the options are those of `tfport.batch`."""

    def __init__(
        self,
        model: str,
        *,
        min_batch_size: int | None = None,
        max_batch_size: int | None = None,
        large_model: bool = False,
        **options: Any,
    ) -> None:
        """`large_model`: one copy for all processes of a machine, not one for each."""
        super().__init__()
        self.model, self.options = model, scoring_options(**{"keep": (), "threads": 1, **options})
        self.large_model = large_model
        sizes = {"min_batch_size": min_batch_size, "max_batch_size": max_batch_size}
        self.batch_sizes = {name: size for name, size in sizes.items() if size is not None}

    def load_model(self) -> BatchScorer:
        keep_freed_memory()
        return BatchScorer(self.model, self.options)

    def run_inference(
        self,
        batch: Sequence[Row],
        model: BatchScorer,
        inference_args: Mapping[str, Any] | None = None,
    ) -> Iterable[PredictionResult]:
        table = _table(batch)
        with model.lock:
            results = model(table).to_pylist()
        return [PredictionResult(row, result, self.model) for row, result in zip(batch, results, strict=True)]

    def update_model_path(self, model_path: str | None = None) -> None:
        self.model = model_path or self.model

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        return self.batch_sizes

    def share_model_across_processes(self) -> bool:
        return self.large_model

    def get_num_bytes(self, batch: Sequence[Row]) -> int:
        return sum(
            sum(map(_bytes, row.values())) if isinstance(row, Mapping) else _bytes(row) for row in batch
        )

    def get_metrics_namespace(self) -> str:
        return "BeamML_tfport"


class SplitFailed(beam.PTransform):  # type: ignore[misc]
    """Predictions of a handler with `on_error="collect"` as two: of good rows, and of failed ones."""

    def expand(self, predictions: beam.PCollection) -> tuple[beam.PCollection, beam.PCollection]:
        good, failed = predictions | beam.Partition(_is_failed, 2)
        return good, failed


def _is_failed(prediction: PredictionResult, partitions: int) -> int:
    return int(prediction.inference[ERROR_COLUMN] is not None)


def _table(rows: Sequence[Row]) -> pa.RecordBatch:
    if isinstance(rows[0], Mapping):
        columns = {name: _column([row.get(name) for row in rows]) for name in rows[0]}
        return pa.RecordBatch.from_pydict(columns)
    column = _column(rows)
    schema = pa.schema([(CONTENT, column.type)], metadata={CONTENT: CONTENT})
    return pa.RecordBatch.from_arrays([column], schema=schema)


def _column(values: Sequence[Any]) -> pa.Array:
    first = values[0]
    if isinstance(first, np.ndarray) and first.dtype.kind in "biuf":
        kinds = {(v.dtype, v.shape) if isinstance(v, np.ndarray) else None for v in values}
        if len(kinds) == 1:  # without a Python object for each element
            return nested_lists(np.stack(values))
    return pa.array([value.tolist() if isinstance(value, ARRAYS) else value for value in values])


def _bytes(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else np.asarray(value).nbytes
