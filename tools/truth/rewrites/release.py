"""Run models in the real binary of a release.

    python tools/truth/rewrites/release.py 1.4.1 MODEL --inputs inputs.npz -o outputs.npz [--signature NAME]

`run_in(release, jobs)` unpacks the wheel of a release once, for all jobs, into a temporary folder
that is gone afterwards; `run_installed` takes a TensorFlow that is installed. A job is a model, an
signature and its inputs; its answer is an array for each output, or what TensorFlow said. Jobs of
the same model are run in one session. `foreign` does it, in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("truth", "atlas")]

from elf import Library
from record_capi import WITHOUT_ONEDNN
from record_reduced import INCLUDED, reducing
from stubs import cuda_stubs
from tensor_files import strings_in, with_lengths
from wheels import NOTHING, unpacked

import tfport
from tfport.cli.run.outputs import write_npz
from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.composite import flatten_inputs
from tfport.runtime.select_signature import select_signature

WORKER = Path(__file__).with_name("worker.py")
SECONDS = 600
STRING = 7

Answer = dict[str, np.ndarray] | str
"""Each output, the parts of a sparse or ragged one as `name/0`, `name/1`; or TensorFlow's error message."""


@dataclass(frozen=True, eq=False)
class Job:
    """A model, a signature, and its inputs."""

    model: Path
    inputs: dict[str, Any]
    way: Signature | str | None = None
    """The signature or its name (default: the usual one)."""
    fetches: tuple[str, ...] = ()
    """Tensors to fetch, for a model without signatures."""


@dataclass(frozen=True)
class Ran:
    """The results of all jobs, and the binary."""

    answers: list[Answer]
    version: str
    wheel: str = ""
    sha256: str = ""


def run_in(
    release: str,
    jobs: Sequence[Job],
    *,
    package: str = "tensorflow",
    header: Path | None = None,
    seconds: float = SECONDS,
) -> Ran:
    """Run jobs in a release from the package index; with an ops_to_register.h as the build that it makes."""
    with unpacked(package, release, more=INCLUDED if header else NOTHING) as wheel:
        stubs = wheel.root / "stubs"
        stubs.mkdir()
        cuda_stubs([Library(path) for path in wheel.root.rglob("*.so*") if path.is_file()], stubs)
        environment = {"LD_LIBRARY_PATH": str(stubs)} | (reducing(wheel, header) if header else {})
        ran = run_installed(wheel.package, jobs, seconds=seconds, environment=environment)
    return Ran(ran.answers, ran.version, wheel.name, wheel.sha256)


def run_installed(
    package: Path,
    jobs: Sequence[Job],
    *,
    seconds: float = SECONDS,
    environment: Mapping[str, str] = MappingProxyType({}),
    reference: bool = False,
) -> Ran:
    """Run jobs in the TensorFlow of this folder.

    For a `reference` it computes what is written, as it is written: it neither rewrites the graph for
    speed nor uses oneDNN, and gets the attributes that TF.js leaves out.
    """
    with tempfile.TemporaryDirectory() as scratch:
        groups = [list(same) for _, same in groupby(jobs, lambda job: job.model)]
        tasks = [Task(group, Path(scratch, str(i)), reference) for i, group in enumerate(groups)]
        done = subprocess.run(
            [sys.executable, WORKER, package, str(seconds)],
            input="".join(json.dumps(task.question) + "\n" for task in tasks),
            env={**os.environ, **(WITHOUT_ONEDNN if reference else {}), **environment},
            capture_output=True,
            text=True,
            errors="replace",
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or len(lines) != len(tasks) + 1:
            raise RuntimeError(f"{package}: {done.stderr[-4000:]}")
        answers = [a for task, line in zip(tasks, lines[1:], strict=True) for a in task.read(line["runs"])]
    return Ran(answers, lines[0]["version"])


class Task:
    """Run jobs of one model in `worker`; the outputs as arrays."""

    def __init__(self, jobs: list[Job], folder: Path, reference: bool) -> None:
        folder.mkdir()
        self.model = tfport.load(str(jobs[0].model))
        self.entrances = [way_into(self.model, job) for job in jobs]
        runs = []
        for i, (job, way) in enumerate(zip(jobs, self.entrances, strict=True)):
            (folder / f"run{i}").mkdir()
            runs.append(run_of(way, job.inputs, folder / f"run{i}"))
        loading = how_to_load(self.model, jobs[0].model, folder, reference)
        self.question = {**loading, "runs": runs, "plain": reference}

    def read(self, runs: list[dict]) -> list[Answer]:
        pairs = zip(self.entrances, runs, strict=True)
        return [r["says"] if "says" in r else named(way, r["answers"]) for way, r in pairs]


def way_into(model: Model, job: Job) -> Signature:
    if isinstance(job.way, Signature):
        return job.way
    return way_of(model, job.way, job.fetches, job.inputs)


def way_of(
    model: Model, name: str | None, fetches: Sequence[str] = (), fed: Collection[str] = ()
) -> Signature:
    """A signature; for a graph without signatures, its fetches and the given feeds."""
    way = select_signature(model, name, fetches)
    if not fetches or not fed:
        return way
    values = {name: model.graph.value(name if ":" in name else f"{name}:0") for name in fed}
    specs = {name: TensorSpec((v.name,), v.dtype.base, v.shape) for name, v in values.items()}
    return replace(way, inputs=specs)


def how_to_load(model: Model, path: Path, folder: Path, reference: bool) -> dict[str, Any]:
    """A SavedModel as its folder; any other model as a GraphDef, with the ops that restore its variables."""
    if model.format is SAVED_MODEL:
        return {"saved_model": str(path), "tags": list(model.tags)}
    graph = folder / "graph.pb"
    record = graph_to_def(model.graph)
    graph.write_bytes((with_fused_types(record) if reference else record).SerializeToString())
    saver = model.meta.saver_def
    if not saver.restore_op_name:
        return {"graph": str(graph)}
    prefix = str(path).removesuffix(".meta")
    restore = {"feed": saver.filename_tensor_name, "path": prefix, "op": saver.restore_op_name}
    return {"graph": str(graph), "restore": restore}


def with_fused_types(graph: GraphDef) -> GraphDef:
    """Add the attributes that TF.js omits from fused ops, and that TensorFlow requires today."""
    for node in graph.node:
        if node.op.startswith("_Fused") and "num_args" in node.attr and "TArgs" not in node.attr:
            node.attr["TArgs"].list.type.extend([node.attr["T"].type] * node.attr["num_args"].i)
    return graph


def run_of(way: Signature, inputs: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A run of a signature: its feeds and outputs are files of the folder."""
    numbers = {tensor: spec.dtype.number for spec in way.inputs.values() for tensor in spec.tensors}
    feeds = {}
    for i, (tensor, value) in enumerate(flatten_inputs(way, inputs).items()):
        feeds[tensor] = parcel(numbers[tensor], value, folder / f"feed{i}")
    fetches = dict.fromkeys(tensor for spec in way.outputs.values() for tensor in spec.tensors)
    return {"feeds": feeds, "fetches": list(fetches), "folder": str(folder)}


def parcel(dtype: int, value: Any, file: Path) -> list:
    array = np.asarray(value, object if dtype == STRING else NUMPY[dtype])
    if dtype == STRING:
        file.write_bytes(with_lengths([e if isinstance(e, bytes) else str(e).encode() for e in array.flat]))
    else:
        file.write_bytes(array.tobytes())
    return [dtype, list(array.shape), str(file)]


def opened(dtype: int, shape: list[int], file: str) -> np.ndarray:
    content = Path(file).read_bytes()
    if dtype != STRING:
        return np.frombuffer(content, NUMPY[dtype]).reshape(shape)
    out = np.empty(int(np.prod(shape)), object)
    out[:] = strings_in(content, out.size)
    return out.reshape(shape)


def named(way: Signature, answers: dict[str, list]) -> dict[str, np.ndarray]:
    out = {}
    for name, spec in way.outputs.items():
        for i, tensor in enumerate(spec.tensors):
            out[name if len(spec.tensors) == 1 else f"{name}/{i}"] = opened(*answers[tensor])
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a model in the real binary of a release.")
    parser.add_argument("release")
    parser.add_argument("model", type=Path)
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--inputs", type=Path, required=True, help="an .npz of the inputs by name")
    parser.add_argument("--signature")
    parser.add_argument("--fetch", nargs="+", default=(), help="tensors of a graph without signatures")
    parser.add_argument("-o", type=Path, required=True, help="the .npz to write")
    args = parser.parse_args()
    with np.load(args.inputs) as inputs:
        job = Job(args.model, dict(inputs), args.signature, tuple(args.fetch))
    (answer,) = run_in(args.release, [job], package=args.package).answers
    if isinstance(answer, str):
        print(answer, file=sys.stderr)
        return 1
    write_npz(answer, str(args.o))
    return 0


if __name__ == "__main__":
    sys.exit(main())
