"""The shape after a lookup is known, so that an embedding of what was found can run in the engine."""

import pytest
from tests.runtime.programs import session_of

PLAIN = """
    table = HashTableV2() {key_dtype=string, value_dtype=int64}
    none = Const() {dtype=int64, value=int64()[-1]}
"""
ROWS = """
    table = MutableHashTableOfTensorsV2() {key_dtype=string, value_dtype=int64, value_shape=(2)}
    none = Const() {dtype=int64, value=int64(2)[-1, -1]}
"""
FIND = """
    x = Placeholder() {{dtype=string{shape}}}
    y = LookupTableFindV2(table, x, none) {{Tin=string, Tout=int64}}
"""


@pytest.mark.parametrize(
    ("table", "shape", "expected"),
    [
        (PLAIN, ", shape=(?, 3)", (None, 3)),
        (PLAIN, ", shape=()", ()),
        (PLAIN, "", None),
        (ROWS, ", shape=(?, 3)", (None, 3, 2)),
    ],
)
def test_the_shape_is_known(table, shape, expected):
    program = session_of(table + FIND.format(shape=shape)).program(["y:0"], ["x:0"])
    assert program.steps[-1].outputs[0].shape == expected
