"""Export a signature of a model as an ONNX file, or as an ONNX model for another translation.

Every node must be lowered; otherwise the error lists the nodes that only run on the host. Above
2 GB, the limit of a protobuf message, the weights go into a separate file.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from tfport.errors import CannotRun, Error
from tfport.formats.output import new_path
from tfport.graph.dtypes import BOOL
from tfport.graph.model import Signature
from tfport.runtime.hosted import DOMAIN, DONE, OTHER_TYPES, HostedSteps
from tfport.runtime.onnx.model import OnnxModel
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model, simplified
from tfport.runtime.program import ASSERT, ONNX_TYPES, OnnxNode, Program, Step
from tfport.runtime.session import Session
from tfport.runtime.state import Variable

MAX_INLINE_BYTES = 2**31 - 2**24
MAX_LISTED = 20
DATA = ".data"
ONNX = "ONNX"


def export_signature(session: Session, signature: Signature, path: str) -> OnnxModel:
    """Write a signature as ONNX to a path that does not exist yet; the written model."""
    island = lowered_signature(session, signature)
    _write(island, path)
    return island


def lowered_signature(
    session: Session,
    signature: Signature,
    to: str = ONNX,
    *,
    drop_asserts: bool = False,
    hosted: HostedSteps | None = None,
) -> OnnxModel:
    """A signature as an ONNX model; `to` is the format that is written, for messages.

    With `hosted`, steps without ONNX nodes are nodes too (`runtime.hosted`), and are added to it.
    """
    unsupported = "ONNX does not support" if to == ONNX else f"cannot be exported to {to}"
    feeds = {name: tensor for name, spec in signature.inputs.items() for tensor in spec.tensors}
    fetches = {name: tensor for name, spec in signature.outputs.items() for tensor in spec.tensors}
    others = None if hosted is None else OTHER_TYPES
    for name, spec in {**signature.inputs, **signature.outputs}.items():
        if len(spec.tensors) > 1 or spec.dtype.name not in {**ONNX_TYPES, **(others or {})}:
            raise CannotRun(
                f"{session.model.where}: `{name}` is {spec.form} {spec.dtype}, which {unsupported}"
            )
    if not fetches:
        raise CannotRun(f"{session.model.where}: there is nothing to export: the signature has no outputs")
    program = session.program(list(fetches.values()), list(feeds.values()), hosted=hosted)
    if drop_asserts:
        program.replace({step: () for step in program.steps if step.op == ASSERT})
    _check_all_lowered(program, session.model.where, to, has_effects=hosted is not None)
    return _island(_in_order(program), list(feeds), list(fetches))


def _check_all_lowered(program: Program, where: str, to: str, *, has_effects: bool) -> None:
    left = [
        step for step in program.steps
        if step.lowered is None or (step.effect and not (has_effects and _is_hosted(step)))
    ]  # fmt: skip
    if left:
        whys = [
            "it has side effects" if step.effect else step.why or "tfport has no ONNX form of it"
            for step in left
        ]
        reasons = [f"`{s.name}` ({s.op}): {w}" for s, w in zip(left[:MAX_LISTED], whys, strict=False)]
        more = f"; and {len(left) - MAX_LISTED} more" if len(left) > MAX_LISTED else ""
        count = "1 node" if len(left) == 1 else f"{len(left)} nodes"
        raise CannotRun(f"{where}: {count} cannot be exported to {to}, only run: {'; '.join(reasons)}{more}")


def _is_hosted(step: Step) -> bool:
    return any(node.domain == DOMAIN for node in step.lowered or ())


def _in_order(program: Program) -> Program:
    """The program with results for its effects: each reads that of the one before, and so comes after it."""
    before: Operand | None = None
    for step in program.steps:
        if _is_hosted(step) and (step.effect or any(_is_variable(o) for o in step.inputs)):
            assert step.lowered is not None
            (node,) = step.lowered
            done = Operand(BOOL, (), name=f"{step.name}/done")
            node.inputs, node.outputs = (*node.inputs, before), (*node.outputs, done)
            before = done
    if before is not None:
        program.results = [*program.results, before]
    return program


def _is_variable(operand: Operand) -> bool:
    return isinstance(operand.value, Variable)


def _island(program: Program, inputs: list[str], outputs: list[str]) -> OnnxModel:
    nodes = [node for step in program.steps for node in step.lowered or ()]
    computed = {operand for node in nodes for operand in node.outputs}
    results: list[Operand] = []
    for operand in program.results:
        if operand not in computed or operand in results:  # a constant, an input, or a repeated output
            copy = Operand(operand.dtype, operand.shape)
            nodes.append(OnnxNode("Identity", (operand,), (copy,), {}))
            operand = copy
        results.append(operand)
    names = dict(zip(program.args, inputs, strict=True))
    taken = set(inputs)
    for operand, name in zip(results, [*outputs, DONE], strict=False):
        names[operand] = name if name not in taken else f"{name}_output"
        taken.add(names[operand])
    return island_model(simplified(nodes, results), program.args, results, names=names, exported=True)


def _write(island: OnnxModel, path: str) -> None:
    """Write the model after checking it with ONNX Runtime, and with ONNX's own checker if installed."""
    size = sum(array.nbytes for array in island.weights.values())
    data = Path(path).name + DATA if size > MAX_INLINE_BYTES else None
    with new_path(path) as temporary:
        if data is None:
            _fill(island)
            temporary.write_bytes(island.model.SerializeToString())
            _check(temporary)
            return
        with new_path(Path(path).with_name(data)) as beside:
            _place(island, data, beside)
            temporary.write_bytes(island.model.SerializeToString())


def _fill(island: OnnxModel) -> None:
    for tensor in island.model.graph.initializer:
        if tensor.name in island.weights:
            tensor.raw_data = np.ascontiguousarray(island.weights[tensor.name]).tobytes()
            tensor.ClearField("data_location")
            del tensor.external_data[:]


def _place(island: OnnxModel, data: str, file: Path) -> None:
    with open(file, "xb") as out:
        for tensor in island.model.graph.initializer:
            if tensor.name in island.weights:
                array = np.ascontiguousarray(island.weights[tensor.name])
                del tensor.external_data[:]
                for key, value in (("location", data), ("offset", out.tell()), ("length", array.nbytes)):
                    tensor.external_data.add(key=key, value=str(value))
                out.write(array.data)


def _check(path: Path) -> None:
    import onnxruntime as ort

    try:
        if importlib.util.find_spec("onnx") is not None:
            importlib.import_module("onnx.checker").check_model(str(path), full_check=True)
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # each library raises its own exceptions
        raise Error(f"the exported model is not valid ONNX: {str(error).splitlines()[0]}") from None
