"""Tables that are written are read again, and damaged files give an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.lite.cases import case, const, q
from tests.runtime.cases import f32, i8

from tfport.errors import Error
from tfport.formats.files import MemoryFiles
from tfport.formats.lite.read import read_lite
from tfport.formats.lite.write import lite_bytes

MODEL = case(
    "FULLY_CONNECTED",
    f32(1, 2).reshape(1, 2),
    const(q(i8(1, 2, 3, 4).reshape(2, 2), [0.5, 0.25], axis=0)),
    None,
    fused_activation_function="RELU",
    keep_num_dims=True,
    version=9,
).model


def read(data):
    return read_lite(MemoryFiles("model.tflite", {"model.tflite": memoryview(data)}), "model.tflite")


def read_or_error(data):
    try:
        return read(data)
    except Error as error:
        return error


def test_records_are_written_and_read():
    file = read(MODEL)
    again = read(lite_bytes(file))
    assert (again.subgraphs, again.operator_codes) == (file.subgraphs, file.operator_codes)
    assert [bytes(data) for data in again.buffers] == [bytes(data) for data in file.buffers]
    (operator,) = file.subgraphs[0].operators
    assert (operator.code.op, operator.code.version) == ("FULLY_CONNECTED", 9)
    assert operator.options == {"fused_activation_function": "RELU", "keep_num_dims": True}
    assert operator.inputs == (0, 1, -1)
    weights = file.subgraphs[0].tensors[1]
    assert weights.quantization is not None
    assert weights.quantization.scale == (0.5, 0.25)


@pytest.mark.parametrize("size", range(0, len(MODEL), 7))
def test_a_truncated_file_is_an_error_or_complete(size):
    file = read_or_error(MODEL[:size])
    if isinstance(file, Error):
        assert "model.tflite" in str(file)
    else:
        assert file.subgraphs == read(MODEL).subgraphs


@given(st.lists(st.tuples(st.integers(0, len(MODEL) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes_give_a_model_or_an_error(changes):
    data = bytearray(MODEL)
    for place, byte in changes:
        data[place] = byte
    file = read_or_error(data)
    if isinstance(file, Error):
        assert "model.tflite" in str(file)
    else:
        assert all(op.code in file.operator_codes for graph in file.subgraphs for op in graph.operators)
