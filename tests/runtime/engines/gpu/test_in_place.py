"""Whether a thread's caller wants arrays to be used where they are, and where those are."""

import threading

import numpy as np
import onnxruntime as ort

from tfport.runtime.engines.gpu.device_array import DeviceArray
from tfport.runtime.engines.gpu.in_place import (
    Replay,
    addresses,
    called_in_place,
    in_place,
    is_in_place,
    keep_replay,
    last_replay,
)


def test_the_wish_ends_with_the_block_also_after_an_error():
    seen = []
    with in_place(True):
        seen.append(is_in_place())
        with in_place(False):
            seen.append(is_in_place())
        seen.append(is_in_place())
    try:
        called_in_place(lambda: seen.append(is_in_place()) or 1 / 0)()
    except ZeroDivisionError:
        seen.append(is_in_place())
    assert seen == [True, False, True, True, False]


def test_the_wish_is_that_of_one_thread():
    seen = []
    with in_place(True):
        thread = threading.Thread(target=lambda: seen.append(is_in_place()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_only_arrays_of_the_device_have_addresses():
    x, y = (DeviceArray(ort.OrtValue.ortvalue_from_numpy(np.ones(3, np.float32))) for _ in range(2))
    assert addresses([x, y]) == (x.value.data_ptr(), y.value.data_ptr())
    assert addresses([x, np.ones(3)]) == ()


def test_how_a_call_can_be_repeated_is_known_until_the_next_one():
    replay = Replay(list, [])
    called_in_place(lambda: keep_replay(replay))()
    assert last_replay() is replay
    called_in_place(lambda: None)()
    assert last_replay() is None
