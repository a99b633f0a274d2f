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

STRING, STRING_BYTES = 7, 24
NUMBERS = {"float32": 1, "int32": 3, "int64": 9}
NUMPY = {number: np.dtype(name) for name, number in NUMBERS.items()}
TAG = b"serve"
CONFIG = b"\x32\x02\x20\x01"
"""A ConfigProto: the GPU's memory grows as it is needed."""
POINTERS = """TF_NewStatus TF_Message TF_NewGraph TF_NewSessionOptions TF_LoadSessionFromSavedModel
    TF_GraphOperationByName TF_AllocateTensor TF_TensorData"""


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
    tf.TF_TensorByteSize.restype = ctypes.c_size_t
    return tf


class Model:
    """A SavedModel in a session of TensorFlow."""

    def __init__(self, tf: ctypes.CDLL, path: Path) -> None:
        self._tf, self._status = tf, ctypes.c_void_p(tf.TF_NewStatus())
        self._graph = ctypes.c_void_p(tf.TF_NewGraph())
        options = ctypes.c_void_p(tf.TF_NewSessionOptions())
        tf.TF_SetConfig(options, CONFIG, ctypes.c_size_t(len(CONFIG)), self._status)
        tags = (ctypes.c_char_p * 1)(TAG)
        self._session = ctypes.c_void_p(
            tf.TF_LoadSessionFromSavedModel(
                options, None, str(path).encode(), tags, 1, self._graph, None, self._status
            )
        )
        self._check()
        signature = tfport.load(str(path)).signatures[SIGNATURE]
        self._inputs = {n: self._output(spec.tensors[0]) for n, spec in signature.inputs.items()}
        self._fetches = [self._output(spec.tensors[0]) for spec in signature.outputs.values()]

    def __call__(self, inputs: dict[str, Any]) -> list[np.ndarray]:
        tf = self._tf
        feeds = (Output * len(inputs))(*(self._inputs[name] for name in inputs))
        tensors = (ctypes.c_void_p * len(inputs))(*map(self._tensor, inputs.values()))
        fetches = (Output * len(self._fetches))(*self._fetches)
        results = (ctypes.c_void_p * len(self._fetches))()
        tf.TF_SessionRun(
            self._session, None, feeds, tensors, len(inputs), fetches, results, len(self._fetches),
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
        op, _, index = name.rpartition(":")
        return Output(self._tf.TF_GraphOperationByName(self._graph, op.encode()), int(index))

    def _tensor(self, array: np.ndarray) -> int:
        tf, is_text = self._tf, array.dtype == object
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        size = ctypes.c_size_t(array.size * STRING_BYTES if is_text else array.nbytes)
        number = STRING if is_text else NUMBERS[array.dtype.name]
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
        array = np.empty(shape, NUMPY[tf.TF_TensorType(tensor)])
        ctypes.memmove(array.ctypes.data, tf.TF_TensorData(tensor), tf.TF_TensorByteSize(tensor))
        tf.TF_DeleteTensor(tensor)
        return array


def main() -> None:
    tf = libraries()

    def measure(path: Path) -> None:
        model = Model(tf, path)
        for batch in BATCHES:
            call = functools.partial(model, inputs_of(path, batch))
            report(path, "TensorFlow 2.21", "tf32", {f"host_{batch}": median_ms(call)})

    each_model(measure)


if __name__ == "__main__":
    main()
