"""Jobs for `worker`: a model, a signature and its inputs as files, and the answers as arrays."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("truth", "atlas")]

from tensor_files import strings_in, with_lengths

import tfport
from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.composite import flatten_inputs
from tfport.runtime.select_signature import select_signature

STRING = 7


class Crash(str):
    """How a process ended that gave no answer: by a signal, with an exit code, or not in time."""

    __slots__ = ()


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


class Task:
    """Run jobs of one model in `worker`; the outputs as arrays."""

    def __init__(self, jobs: list[Job], folder: Path, reference: bool) -> None:
        folder.mkdir()
        self.model = tfport.load(str(jobs[0].model))
        self.entrances = [way_into(self.model, job) for job in jobs]
        pairs = enumerate(zip(jobs, self.entrances, strict=True))
        runs = [run_of(way, job.inputs, folder, i) for i, (job, way) in pairs]
        loading = how_to_load(self.model, jobs[0].model, folder, reference)
        self.question = {**loading, "runs": runs, "plain": reference}

    def read(self, runs: list[dict]) -> list[Answer]:
        pairs = zip(self.entrances, runs, strict=True)
        return [answer_of(way, run) for way, run in pairs]


def answer_of(way: Signature, run: dict) -> Answer:
    if "says" in run:
        return Crash(run["says"]) if run["stage"] == "crash" else run["says"]
    return named(way, run["answers"])


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


def run_of(way: Signature, inputs: dict[str, Any], folder: Path, number: int) -> dict[str, Any]:
    """A run of a signature: its feeds are files of the folder."""
    numbers = {tensor: spec.dtype.number for spec in way.inputs.values() for tensor in spec.tensors}
    feeds = {}
    for i, (tensor, value) in enumerate(flatten_inputs(way, inputs).items()):
        feeds[tensor] = parcel(numbers[tensor], value, folder / f"feed{number}_{i}")
    fetches = dict.fromkeys(tensor for spec in way.outputs.values() for tensor in spec.tensors)
    return {"feeds": feeds, "fetches": list(fetches)}


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
    return {
        answer: opened(*answers[tensor])
        for name, spec in way.outputs.items()
        for answer, tensor in zip(output_names(name, spec), spec.tensors, strict=True)
    }


def output_names(name: str, spec: TensorSpec) -> list[str]:
    """What the tensors of an output are called in an answer."""
    several = len(spec.tensors) > 1
    return [f"{name}/{i}" if several else name for i in range(len(spec.tensors))]
