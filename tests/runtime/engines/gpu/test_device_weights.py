import numpy as np
import onnxruntime as ort

from tfport.runtime.engines.gpu.device_weights import DeviceWeights


def test_what_is_missing_on_the_device_counts_once():
    first, second = np.zeros(10, np.float32), np.zeros(3, np.float64)
    weights = DeviceWeights("cpu", 0)
    named = {"a": first, "b": first, "c": second}
    assert weights.missing_bytes(named) == 40 + 24
    weights.use(ort.SessionOptions(), named)
    assert weights.missing_bytes(named) == 40 + 24  # on the CPU nothing is uploaded
    assert weights.uploaded_bytes == 0
