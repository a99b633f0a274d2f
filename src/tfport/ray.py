"""Score a Ray dataset with a pool of actors.

    from ray.data import ActorPoolStrategy
    dataset.map_batches(
        tfport.ray.TableScorer, fn_constructor_args=["export/1"], fn_constructor_kwargs={"on_error": "null"},
        batch_format="pyarrow", compute=ActorPoolStrategy(size=2),
    )

Each actor loads the model once and computes in as many threads as it has processors (`num_cpus`); actors of
one machine map the same weights. Ray restarts actors and keeps its own checkpoints. With
`server="localhost:8500/NAME"`, the actors of a machine ask its `tfport serve`, such as for a GPU.
`tfport.serve.ray` serves requests. Needs `tfport[ray]`.
"""

# ruff: noqa: E402  first the sentence for what is not installed

from __future__ import annotations

from tfport.extras import require

require("ray", "tfport.ray")

import os
from typing import Any

import pyarrow as pa

from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import scoring_options
from tfport.runtime.freed_memory import keep_freed_memory


class TableScorer:
    """A class for `map_batches` with `batch_format="pyarrow"`; the options are those of `tfport.batch`."""

    def __init__(self, model: str, **options: Any) -> None:
        keep_freed_memory()
        self.scorer = BatchScorer(model, scoring_options(**{"threads": _threads(), **options}))

    def __call__(self, table: pa.Table) -> pa.Table:
        return self.scorer.score_table(table)


def _threads() -> int:
    """The processors of this actor: Ray sets the variable in its processes, unless somebody has."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return max(int(threads), 1) if threads.isdigit() else 1
