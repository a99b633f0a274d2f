"""RaggedFillEmptyRows and its gradient."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.sparse.kernels.empty_rows import fill_empty_rows_grad, filled_rows


@host("RaggedFillEmptyRows")
def ragged_fill_empty_rows(value_rowids, values, nrows, default_value):
    if value_rowids.shape != values.shape or value_rowids.ndim != 1 or default_value.ndim or nrows.ndim:
        raise RunFailed(
            f"value_rowids {list(value_rowids.shape)} and values {list(values.shape)} "
            "must be vectors of the same length"
        )
    from_input, into, row_of, empty = filled_rows(value_rowids, int(nrows))
    flat = np.empty(len(row_of), values.dtype)
    flat[...] = default_value[()]
    flat[into] = values[from_input]
    back = np.empty(len(values), np.int64)
    back[from_input] = into
    return row_of, flat, empty, back


host("RaggedFillEmptyRowsGrad")(fill_empty_rows_grad)
