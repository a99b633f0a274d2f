"""Tensors in files between processes: tfport and the worker read each other's files."""

from __future__ import annotations

import runpy

import ml_dtypes
import numpy as np
import pytest

from tfport.errors import UnreadableFile
from tfport.fix.certify.other_runner import WORKERS, read_tensors, write_tensors
from tfport.graph.dtypes import DType

ARRAYS = {
    "float32": np.float32([[1, np.nan], [-0.0, np.inf]]),
    "bfloat16": np.array([1, 2.5], ml_dtypes.bfloat16),
    "float16": np.float16([1]),
    "int64": np.int64(7),
    "bool": np.array([True, False]),
    "complex64": np.complex64([1 + 2j]),
    "string": np.array([[b"", b"a\0"], [b"\xff", "é".encode()]], object),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_written_here_is_read_there_and_back(tmp_path, name):
    worker = runpy.run_path(str(WORKERS / "worker_jobs.py"))
    array = ARRAYS[name]
    write_tensors(
        tmp_path / "in", {"x:0": (DType.parse(name), array), "n:0": (DType.parse("int32"), np.int32([1]))}
    )
    there = worker["read_tensors"](str(tmp_path / "in"), lambda name: DType.parse(name).numpy, np)
    tensors = [
        (key, array, dtype) for (key, array), dtype in zip(there.items(), [name, "int32"], strict=True)
    ]
    worker["write_tensors"](str(tmp_path / "out"), tensors, np)
    back = read_tensors(tmp_path / "out")
    assert back["n:0"].tolist() == [1]
    assert back["x:0"].dtype == array.dtype
    assert back["x:0"].shape == array.shape
    if name == "string":
        assert back["x:0"].tolist() == array.tolist()
    else:
        assert back["x:0"].tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"[{", b"\x03" + b"\0" * 7 + b"[1]"]
)
def test_a_file_that_makes_no_tensors_is_refused(tmp_path, data):
    (tmp_path / "out").write_bytes(data)
    with pytest.raises(UnreadableFile):
        read_tensors(tmp_path / "out")


@pytest.mark.parametrize("lengths", [[1, 1], [9], [3, -1]])
def test_strings_that_do_not_fit_their_lengths_are_refused(tmp_path, lengths):
    path = tmp_path / "out"
    write_tensors(path, {"x": (DType.parse("string"), np.array([b"ab"], object))})
    whole = path.read_bytes()
    text = str(lengths).encode()
    head = int.from_bytes(whole[:8], "little")
    changed = whole[8 : 8 + head].replace(b"[2]", text)
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + head :])
    with pytest.raises(UnreadableFile, match="do not match"):
        read_tensors(path)
