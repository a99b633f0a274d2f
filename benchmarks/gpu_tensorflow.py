"""A contender of `gpu.py`: TensorFlow through its C API, from arrays on the host to arrays on the host.

The environment variable TFLIBS names the folder with TensorFlow's two libraries, and with those of CUDA that
they open; it must also be on LD_LIBRARY_PATH. No Python package of TensorFlow is needed.
"""

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # before TensorFlow's libraries, which bring symbols of their own
from gpu_timing import BATCHES, SIGNATURE, each_model, inputs_of, median_ms, report

import tfport
from tfport.formats.encoding.tensor import NUMPY

STRING, STRING_BYTES = 7, 24
NUMBERS = {dtype: number for number, dtype in reversed(NUMPY.items())}
"""The first of each: quantized types come after the plain ones."""
TAG = b"serve"
CONFIG = b"\x32\x02\x20\x01"
"""A ConfigProto: the GPU's memory grows as it is needed."""
POINTERS = """TF_NewStatus TF_Message TF_NewGraph TF_NewSessionOptions TF_LoadSessionFromSavedModel
    TF_GraphOperationByName TF_AllocateTensor TF_TensorData TF_StringGetDataPointer"""


class Output(ctypes.Structure):
    """TF_Output."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


def libraries() -> ctypes.CDLL:
    folder = Path(os.environ["TFLIBS"])
    ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), mode=ctypes.RTLD_GLOBAL)
    tf = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), mode=ctypes.RTLD_GLOBAL)
    for name in POINTERS.split():
        getattr(tf, name).restype = ctypes.c_void_p
    tf.TF_Message.restype = ctypes.c_char_p
    tf.TF_Dim.restype = ctypes.c_int64
    tf.TF_TensorByteSize.restype = tf.TF_StringGetSize.restype = ctypes.c_size_t
    return tf


class Model:
    """A SavedModel in a session of TensorFlow."""

    def __init__(self, tf: ctypes.CDLL, path: Path) -> None:
        self._tf, self._status = tf, ctypes.c_void_p(tf.TF_NewStatus())
        self._graph = ctypes.c_void_p(tf.TF_NewGraph())
        self._outputs: dict[str, Output] = {}
        options = ctypes.c_void_p(tf.TF_NewSessionOptions())
        tf.TF_SetConfig(options, CONFIG, ctypes.c_size_t(len(CONFIG)), self._status)
        tags = (ctypes.c_char_p * 1)(TAG)
        self._session = ctypes.c_void_p(
            tf.TF_LoadSessionFromSavedModel(
                options, None, str(path).encode(), tags, 1, self._graph, None, self._status
            )
        )
        self._check()

    def run(self, fetches: list[str], feeds: dict[str, Any]) -> list[np.ndarray]:
        """The values of tensors; `feeds` by the names of tensors."""
        tf = self._tf
        fed = (Output * len(feeds))(*map(self._output, feeds))
        tensors = (ctypes.c_void_p * len(feeds))(*map(self._tensor, feeds.values()))
        fetched = (Output * len(fetches))(*map(self._output, fetches))
        results = (ctypes.c_void_p * len(fetches))()
        tf.TF_SessionRun(
            self._session, None, fed, tensors, len(feeds), fetched, results, len(fetches),
            None, 0, None, self._status,
        )  # fmt: skip
        self._check()
        for tensor in tensors:
            tf.TF_DeleteTensor(ctypes.c_void_p(tensor))
        return [self._array(ctypes.c_void_p(tensor)) for tensor in results]

    def _check(self) -> None:
        if self._tf.TF_GetCode(self._status):
            raise RuntimeError(self._tf.TF_Message(self._status).decode())

    def _output(self, name: str) -> Output:
        if name not in self._outputs:
            op, _, index = name.rpartition(":")
            operation = self._tf.TF_GraphOperationByName(self._graph, op.encode())
            if not operation:
                raise RuntimeError(f"no operation {op}")
            self._outputs[name] = Output(operation, int(index))
        return self._outputs[name]

    def _tensor(self, array: np.ndarray) -> int:
        tf, is_text = self._tf, array.dtype == object
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        size = ctypes.c_size_t(array.size * STRING_BYTES if is_text else array.nbytes)
        number = STRING if is_text else NUMBERS[array.dtype]
        tensor = tf.TF_AllocateTensor(number, dims, array.ndim, size)
        data = tf.TF_TensorData(ctypes.c_void_p(tensor))
        if is_text:
            for index, text in enumerate(array.reshape(-1)):
                string = ctypes.c_void_p(data + index * STRING_BYTES)
                tf.TF_StringInit(string)
                tf.TF_StringCopy(string, text, ctypes.c_size_t(len(text)))
        else:
            ctypes.memmove(data, array.ctypes.data, array.nbytes)
        return int(tensor)

    def _array(self, tensor: ctypes.c_void_p) -> np.ndarray:
        tf = self._tf
        shape = [tf.TF_Dim(tensor, axis) for axis in range(tf.TF_NumDims(tensor))]
        array, data = np.empty(shape, NUMPY[tf.TF_TensorType(tensor)]), tf.TF_TensorData(tensor)
        if array.dtype == object:
            strings = (ctypes.c_void_p(data + index * STRING_BYTES) for index in range(array.size))
            array.reshape(-1)[:] = [self._text(string) for string in strings]
        else:
            ctypes.memmove(array.ctypes.data, data, tf.TF_TensorByteSize(tensor))
        tf.TF_DeleteTensor(tensor)
        return array

    def _text(self, string: ctypes.c_void_p) -> bytes:
        size = self._tf.TF_StringGetSize(string)
        return ctypes.string_at(self._tf.TF_StringGetDataPointer(string), size)


def main() -> None:
    tf = libraries()

    def measure(path: Path) -> None:
        model = Model(tf, path)
        signature = tfport.load(str(path)).signatures[SIGNATURE]
        fetches = [spec.tensors[0] for spec in signature.outputs.values()]
        for batch in BATCHES:
            inputs = inputs_of(path, batch)
            feeds = {spec.tensors[0]: inputs[name] for name, spec in signature.inputs.items()}
            call = functools.partial(model.run, fetches, feeds)
            report(path, "TensorFlow 2.21", "tf32", {f"host_{batch}": median_ms(call)})

    each_model(measure)


if __name__ == "__main__":
    main()
