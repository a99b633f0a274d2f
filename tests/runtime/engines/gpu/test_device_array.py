import ml_dtypes
import numpy as np
import onnxruntime as ort
import pytest

from tfport.errors import Error
from tfport.runtime.engines.gpu.device_array import (
    DeviceArray,
    all_on_host,
    from_dlpack,
    is_elsewhere,
    on_host,
)


def device_array(array: np.ndarray) -> DeviceArray:
    return DeviceArray(ort.OrtValue.ortvalue_from_numpy(array))


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_a_tensor_has_the_attributes_of_its_array(kind, shape):
    array = np.ones(shape, kind)
    tensor = device_array(array)
    for name in ("shape", "dtype", "ndim", "size", "nbytes"):
        assert getattr(tensor, name) == getattr(array, name)
    assert tensor.numpy() is tensor.numpy()
    np.testing.assert_array_equal(np.asarray(tensor), array)
    assert on_host(tensor) is tensor.numpy()


def test_numpy_converts_a_tensor_and_copies_it_on_request():
    tensor = device_array(np.ones(3, np.float32))
    assert np.asarray(tensor, np.float64).dtype == np.float64
    assert np.asarray(tensor) is tensor.numpy()
    assert not np.shares_memory(np.array(tensor), tensor.numpy())


def test_bfloat16():
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(3, np.uint16), 16)
    assert DeviceArray(value).dtype == ml_dtypes.bfloat16


def test_other_values_stay_as_they_are():
    array, resource = np.ones(1), object()
    assert all_on_host([array, resource]) == [array, resource]
    assert not is_elsewhere(array)
    assert not is_elsewhere([1.0])
    assert not is_elsewhere(np.float32(1))


def test_arrays_of_other_frameworks_share_their_memory():
    array = np.arange(4, dtype=np.float32)
    tensor = from_dlpack(array, "x")
    array[0] = 9
    assert tensor.numpy().tolist() == [9, 1, 2, 3]
    with pytest.raises(Error, match=r"^`x`: str cannot be read through DLPack"):
        from_dlpack("text", "x")
