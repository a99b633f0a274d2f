"""A few keys are looked up one by one, with the answers of many at once."""

import numpy as np
import pytest

from tfport.errors import RunFailed
from tfport.graph.dtypes import DType
from tfport.runtime.ops.tables import table as tables
from tfport.runtime.ops.tables.table import MutableTable, StaticTable

STRING, INT64, FLOAT32 = (DType.parse(name) for name in ("string", "int64", "float32"))


def strings(*values):
    out = np.empty(len(values), object)
    out[:] = values
    return out


CASES = [
    (STRING, INT64, strings(b"a", b"", b"\xff"), np.array([4, 5, 6]), strings(b"", b"b", b"\xff", b"a")),
    (INT64, STRING, np.array([3, -1, 9]), strings(b"x", b"", b"z"), np.array([[9, 0], [3, 3]])),
    (FLOAT32, FLOAT32, np.float32([1, 2]), np.float32([-0.0, 7]), np.float32([1, np.nan, 2, 5])),
    (INT64, INT64, np.array([1]), np.array([2]), np.empty((0, 3), np.int64)),
    (INT64, INT64, np.array([1]), np.array([2]), np.array(1)),
]


def default_of(kind):
    default = np.empty((), kind.numpy)
    default[()] = b"none" if kind is STRING else -1
    return default


@pytest.mark.parametrize("cls", [StaticTable, MutableTable])
@pytest.mark.parametrize(("key", "value", "keys", "values", "wanted"), CASES)
def test_a_few_keys_give_what_many_do(cls, key, value, keys, values, wanted, monkeypatch):
    table = cls("t", key, value)
    table.fill(keys, values)
    few = table.find(wanted, default_of(value))
    monkeypatch.setattr(tables, "_FEW", -1)
    many = table.find(wanted, default_of(value))
    assert (few.dtype, few.shape) == (many.dtype, many.shape)
    assert repr(few.tolist()) == repr(many.tolist())


def test_keys_of_another_type_are_refused():
    table = StaticTable("t", INT64, INT64)
    table.fill(np.array([1]), np.array([2]))
    with pytest.raises(RunFailed, match="must be used with int64 keys"):
        table.find(np.int32([1]), default_of(INT64))


def test_an_empty_table_has_the_default_for_all_keys():
    table = MutableTable("t", INT64, INT64)
    assert table.find(np.array([1, 2]), default_of(INT64)).tolist() == [-1, -1]
