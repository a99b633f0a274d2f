"""Output shapes of lookups in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.lower import shapes
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.shapes import Shapes
from tfport.runtime.ops.tables.table import LookupTable


@shapes("LookupTableFind LookupTableFindV2")
def looked_up(inputs: Sequence[Operand], attrs: dict[str, Any]) -> Shapes:
    """A value for each key; keys and values of some tables are vectors."""
    table, keys = inputs[0].value, inputs[1].shape
    if not isinstance(table, LookupTable) or keys is None or len(keys) < len(table.key_shape):
        return [None]
    return [(*keys[: len(keys) - len(table.key_shape)], *table.value_shape)]
