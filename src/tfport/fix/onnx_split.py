"""Write a model that ONNX does not hold whole: its largest parts as ONNX files, the rest for the host.

The folder has `part_1.onnx`, `part_2.onnx`, …, a SavedModel `host` with a signature for each part that ONNX
does not hold, and `manifest.json`: the parts in the order in which they run, the tensors that each reads and
computes by name, and for each node of the host the reason. docs/commands/export.md has a loop that runs it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfport.errors import CannotRun
from tfport.fix.export import frozen_model, saved_with
from tfport.fix.journal import Journal
from tfport.fix.options import FixOptions
from tfport.fix.structure.prune import drop_functions
from tfport.formats.output import new_path
from tfport.graph.model import Model, Signature
from tfport.graph.reach import needed_by
from tfport.graph.save import save_model
from tfport.graph.shapes import Shape
from tfport.runtime.custom.registry import Registry
from tfport.runtime.export import OnnxOptions, island_of
from tfport.runtime.exported_steps import OnnxFileEngine
from tfport.runtime.onnx.file import write_onnx
from tfport.runtime.onnx.model import ELEMENT_TYPES
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Stage, cut_into_stages
from tfport.runtime.program import ASSERT, Program, Step
from tfport.runtime.select_signature import select_signature
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass

VERSION = 1
HOST, MANIFEST = "host", "manifest.json"


@dataclass(frozen=True, slots=True)
class SplitModel:
    """What was written."""

    signature: str
    parts: list[dict[str, Any]]
    """As in the manifest."""

    @property
    def onnx_nodes(self) -> int:
        return sum(part["nodes"] for part in self.parts if part["kind"] == "onnx")

    @property
    def host_nodes(self) -> list[dict[str, str]]:
        return [node for part in self.parts if part["kind"] == HOST for node in part["nodes"]]


def write_split(
    model: Model,
    folder: str | os.PathLike[str],
    choice: FixOptions,
    options: OnnxOptions,
    registry: Registry | None = None,
) -> SplitModel:
    """Write the parts of a signature to a folder that does not exist yet."""
    saved = saved_with(model, choice)
    name = select_signature(saved, None).name
    flat = frozen_model(saved, keep_init=True)
    signature = flat.signatures[name]
    engine = OnnxFileEngine()
    program = _program(Session(flat, registry=registry), signature, engine)
    stages = cut_into_stages(program, engine)
    tensors = _tensor_names(flat, program, signature)
    with new_path(folder) as temporary:
        temporary.mkdir()
        parts = list(_parts(stages, tensors, temporary, options, flat.where))
        if any(part["kind"] == HOST for part in parts):
            _write_host(flat, stages, tensors, parts, temporary / HOST)
        outputs = {key: tensors[o] for key, o in zip(signature.outputs, program.results, strict=True)}
        manifest = {
            "version": VERSION,
            "signature": name,
            "inputs": {key: spec.tensors[0] for key, spec in signature.inputs.items()},
            "outputs": outputs,
            "parts": parts,
        }
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return SplitModel(name, parts)


def _program(session: Session, signature: Signature, engine: OnnxFileEngine) -> Program:
    feeds, fetches = (
        [tensor for spec in specs.values() for tensor in spec.tensors]
        for specs in (signature.inputs, signature.outputs)
    )
    program = session.program(fetches, feeds, engine=engine)
    engine.complete(program)
    program.replace({step: () for step in program.steps if step.op == ASSERT})
    return program


def _tensor_names(model: Model, program: Program, signature: Signature) -> dict[Operand, str]:
    """The tensor of the graph that each operand is."""
    feeds = [tensor for spec in signature.inputs.values() for tensor in spec.tensors]
    fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
    names = dict(zip(program.args, feeds, strict=True))
    for step in program.steps:
        node = model.graph.find(step.name)
        if node is not None and node.op == step.op:
            for index, operand in enumerate(step.outputs):
                names.setdefault(operand, f"{step.name}:{index}")
    for operand, tensor in zip(program.results, fetches, strict=True):
        if operand not in names:
            raise CannotRun(f"{model.where}: cannot be split: no node computes `{tensor}`")
    return names


def _parts(
    stages: Sequence[Stage],
    tensors: Mapping[Operand, str],
    folder: Path,
    options: OnnxOptions,
    where: str,
) -> Iterator[dict[str, Any]]:
    for stage in stages:
        ends = [*stage.reads, *stage.writes]
        if unknown := [o for o in ends if o not in tensors or o.dtype.name not in ELEMENT_TYPES]:
            what = f"`{unknown[0].name.partition('#')[0]}` ({unknown[0].dtype})"
            raise CannotRun(f"{where}: cannot be split: {what} would pass from one part to another")
        inputs, outputs = ([tensors[o] for o in side] for side in (stage.reads, stage.writes))
        if stage.lowered:
            number = sum(1 for file in folder.iterdir() if file.suffix == ".onnx") + 1
            file = f"part_{number}.onnx"
            island = island_of(Program(stage.reads, stage.steps, stage.writes), inputs, outputs, options)
            write_onnx(island, folder / file, external_data=options.external_data)
            yield {
                "kind": "onnx",
                "file": file,
                "inputs": inputs,
                "outputs": outputs,
                "nodes": len(island.model.graph.node),
            }
        else:
            number = sum(1 for other in stages[: stages.index(stage)] if not other.lowered) + 1
            nodes = [_host_node(step) for step in stage.steps]
            key = f"{HOST}_{number}"
            yield {"kind": HOST, "signature": key, "inputs": inputs, "outputs": outputs, "nodes": nodes}


def _host_node(step: Step) -> dict[str, str]:
    why = "it has side effects" if step.effect else step.why or "too small for its own file"
    return {"name": step.name, "op": step.op, "why": why}


def _write_host(
    flat: Model,
    stages: Sequence[Stage],
    tensors: Mapping[Operand, str],
    parts: Sequence[dict[str, Any]],
    path: Path,
) -> None:
    """A SavedModel with a signature for each part that the host runs; what ONNX computes is fed."""
    work = flat.copy()
    graph, meta = work.graph, work.meta
    meta.signature_def.clear()
    types = {tensors[o]: o for stage in stages for o in (*stage.reads, *stage.writes)}
    computed = {tensor for part in parts if part["kind"] == "onnx" for tensor in part["outputs"]}
    fed: dict[str, str] = {}
    for tensor in (t for part in parts if part["kind"] == HOST for t in part["inputs"]):
        if tensor in computed and tensor not in fed:
            operand = types[tensor]
            shape = Shape(operand.shape)
            node = graph.add(
                "Placeholder", (), {"dtype": operand.dtype, "shape": shape}, name=f"{HOST}/input"
            )
            graph.value(tensor).replace_by(node.output(0))
            fed[tensor] = f"{node.name}:0"
    ends = []
    for part in parts:
        if part["kind"] != HOST:
            continue
        proto = meta.signature_def[part["signature"]]
        proto.method_name = "tensorflow/serving/predict"
        for infos, names in ((proto.inputs, part["inputs"]), (proto.outputs, part["outputs"])):
            for tensor in names:
                info = infos[tensor]
                info.name = fed.get(tensor, tensor)
                info.dtype = types[tensor].dtype.number  # type: ignore[assignment]
                info.tensor_shape.CopyFrom(Shape(types[tensor].shape).to_proto())
                ends.append(graph.value(info.name).node)
    graph.prune(needed_by([*ends, *work.init_nodes]))
    drop_functions(graph, Journal())
    save_model(work, path, None)
