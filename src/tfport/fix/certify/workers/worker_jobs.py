# mypy: ignore-errors
# ruff: noqa
"""What all workers do: read jobs, feed a loaded model, write the outputs.

A worker runs in a process of its own, in the Python of another runtime. This file uses only the
standard library and numpy, and must be valid Python 2.7. A worker calls `main` with a function that
starts its runtime. `tfport.fix.certify.other_runner` writes the jobs and reads the outputs;
`tfport.fix.certify.other_runner` describes the format of tensor files.
"""

from __future__ import print_function

import io
import json
import os
import platform
import struct
import sys


def main(start):
    """Run the jobs in the folders of the command line, one after the other.

    `start()` imports the runtime and returns facts about it, and a function that loads the model of a
    job: an object with `run(trial, feeds)`, which returns names, arrays and dtypes, and `close()`. The
    facts may have `numpy_type`, a function from the name of a dtype to that of numpy.
    """
    folders = sys.argv[1:]
    jobs = [read_job(folder) for folder in folders]
    limit_memory(jobs[0]["memory"])
    import numpy as np

    facts, load = start()
    numpy_type = facts.pop("numpy_type", np.dtype)
    facts.update(
        python=platform.python_version(),
        numpy=np.__version__,
        system=platform.platform(),
        machine=platform.machine(),
    )
    for folder, job in zip(folders, jobs):
        write_text(os.path.join(folder, "about.json"), json.dumps(facts))
        answer(folder, job, load, numpy_type, np)


def answer(folder, job, load, numpy_type, np):
    """Load the model of a job and run the trials that have no outcome yet."""
    try:
        model = load(job)
    except Exception as error:
        write_text(os.path.join(folder, "load.txt"), message(error))
        return
    write_text(os.path.join(folder, "loaded.txt"), "")
    for i in job["order"]:
        start = os.path.join(folder, str(i))
        if os.path.exists(start + ".out") or os.path.exists(start + ".txt"):
            continue
        try:
            feeds = read_tensors(start + ".in", numpy_type, np)
            write_tensors(start + ".out", model.run(job["trials"][i], feeds), np)
        except Exception as error:
            write_text(start + ".txt", message(error))
    model.close()


def read_job(folder):
    with io.open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        return json.load(file)


def read_tensors(path, numpy_type, np):
    with io.open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors, at = {}, 8 + length
    for header in json.loads(data[8 : 8 + length].decode("utf-8")):
        raw = data[at : at + header["bytes"]]
        at += header["bytes"]
        if header["dtype"] == "string":
            array, start = np.empty(len(header["lengths"]), object), 0
            for i, size in enumerate(header["lengths"]):
                array[i] = raw[start : start + size]
                start += size
        else:
            array = np.frombuffer(raw, numpy_type(header["dtype"]))
        tensors[header["name"]] = array.reshape(header["shape"])
    return tensors


def write_tensors(path, tensors, np):
    headers, blobs = [], []
    for name, value, dtype in tensors:
        array = np.asarray(value)
        header = {"name": name, "dtype": dtype, "shape": list(array.shape)}
        if dtype == "string":
            flat = [t if isinstance(t, bytes) else t.encode("utf-8") for t in array.reshape(-1).tolist()]
            header["lengths"], raw = [len(t) for t in flat], b"".join(flat)
        else:
            raw = np.ascontiguousarray(array).tobytes()
        header["bytes"] = len(raw)
        headers.append(header)
        blobs.append(raw)
    head = json.dumps(headers).encode("utf-8")
    with io.open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for raw in blobs:
            file.write(raw)
    os.rename(path + ".part", path)


def write_text(path, text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    with io.open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".part", path)


def message(error):
    try:
        return "%s: %s" % (type(error).__name__, error)
    except UnicodeError:  # Python 2 with a message that is not ASCII
        return "%s: %r" % (type(error).__name__, error)


def limit_memory(size):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except Exception:  # not supported on this system: only time is limited
        pass
