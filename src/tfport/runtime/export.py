"""Export a signature of a model as an ONNX file, or as an ONNX model for another translation.

Every node must be lowered; otherwise the error lists the nodes that only run on the host.
`onnx.file` writes the file, `onnx.opset` says the nodes in another version of ONNX's ops.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence

import numpy as np

from tfport.errors import CannotRun
from tfport.extras import installed_version
from tfport.formats.proto import onnx_pb2 as pb
from tfport.graph.dtypes import BOOL, FLOAT32, DType
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.exported_spectra import lower_spectra
from tfport.runtime.exported_steps import (
    STATE_ADVICE,
    ExportedState,
    OnnxFileEngine,
    bad_texts,
    state_as_ends,
)
from tfport.runtime.hosted import DOMAIN, DONE, OTHER_TYPES, HostedSteps
from tfport.runtime.onnx.builder import OPSET
from tfport.runtime.onnx.file import write_onnx
from tfport.runtime.onnx.model import ELEMENT_TYPES, OnnxModel
from tfport.runtime.onnx.opset import ir_version
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model, simplified
from tfport.runtime.program import ASSERT, ONNX_TYPES, OnnxNode, Program, Step
from tfport.runtime.restore.restore_checks import unset_error
from tfport.runtime.session import Session
from tfport.runtime.state import Variable
from tfport.startup.dataclass import dataclass

MAX_LISTED = 20
ONNX = "ONNX"
FLOAT16 = DType.parse("float16")
LEAST_WEIGHTS = 1024
"""Constants of fewer bytes stay float32 with `--weights float16`."""


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How an ONNX file is written."""

    opset: int = OPSET
    external_data: bool = False
    """Whether the weights are in a file beside it, whatever their size."""
    half_weights: bool = False
    """Whether float32 weights are stored as float16; the model still computes in float32."""
    strings: bool = False
    """Whether it may have strings, which are text in ONNX, tables and Fourier transforms."""
    drop_asserts: bool = False
    state_as_inputs: bool = False
    """Whether variables that the signature changes are inputs and outputs."""


USUAL = OnnxOptions()


def export_signature(
    session: Session, signature: Signature, path: str | os.PathLike[str], options: OnnxOptions = USUAL
) -> OnnxModel:
    """Write a signature as ONNX to a path that does not exist yet; the written model."""
    island = lowered_signature(session, signature, drop_asserts=options.drop_asserts, options=options)
    _describe(island.model, session.model, signature)
    write_onnx(island, path, external_data=options.external_data)
    return island


def lowered_signature(
    session: Session,
    signature: Signature,
    to: str = ONNX,
    *,
    drop_asserts: bool = False,
    options: OnnxOptions = USUAL,
    hosted: HostedSteps | None = None,
) -> OnnxModel:
    """A signature as an ONNX model; `to` is the format that is written, for messages.

    With `hosted`, steps without ONNX nodes are nodes too (`runtime.hosted`), and are added to it.
    """
    unsupported = "ONNX does not support" if to == ONNX else f"cannot be exported to {to}"
    feeds = {name: tensor for name, spec in signature.inputs.items() for tensor in spec.tensors}
    fetches = {name: tensor for name, spec in signature.outputs.items() for tensor in spec.tensors}
    allowed = {**ONNX_TYPES, **OTHER_TYPES} if hosted is not None else ONNX_TYPES
    allowed = ELEMENT_TYPES if options.strings else allowed
    for name, spec in {**signature.inputs, **signature.outputs}.items():
        if len(spec.tensors) > 1 or spec.dtype.name not in allowed:
            raise CannotRun(f"{session.model.where}: `{name}` is {_form_of(spec)}, which {unsupported}")
    if not fetches:
        raise CannotRun(f"{session.model.where}: there is nothing to export: the signature has no outputs")
    engine = OnnxFileEngine() if options.strings else None
    program = session.program(list(fetches.values()), list(feeds.values()), engine=engine, hosted=hosted)
    if engine is not None:
        engine.complete(program)
        lower_spectra(program, session.model.graph.ops, engine)
        if texts := bad_texts(program):
            where = f"{session.model.where}: `{texts[0].name.partition('#')[0]}`"
            raise CannotRun(f"{where} is a string that is not UTF-8, which ONNX does not support")
    if drop_asserts:
        program.replace({step: () for step in program.steps if step.op == ASSERT})
    states = state_as_ends(program) if options.state_as_inputs else []
    _check_all_lowered(program, session.model, to, options, has_effects=hosted is not None)
    names = [state.name for state in states]
    ends = [*fetches, *(f"{name}_next" for name in names)]
    try:
        model = island_of(_in_order(program), [*feeds, *names], ends, options)
        _set_first_values(model.model.graph, states)
        return model
    except CannotRun as error:
        raise CannotRun(f"{session.model.where}: {error}") from None


def _set_first_values(graph: pb.GraphProto, states: Iterable[ExportedState]) -> None:
    """The first values of variables, as defaults of their inputs."""
    for state in states:
        dtype, content = ONNX_TYPES[state.before.dtype.name], np.ascontiguousarray(state.first).tobytes()
        graph.initializer.add(name=state.name, dims=state.first.shape, data_type=dtype, raw_data=content)


def _form_of(spec: TensorSpec) -> str:
    if spec.dtype.name != "invalid":
        return f"{spec.form} {spec.dtype}"
    return "of unknown type" if spec.form == "dense" else f"a {spec.form} tensor"


def _check_all_lowered(
    program: Program, model: Model, to: str, options: OnnxOptions, *, has_effects: bool
) -> None:
    left = [
        step for step in program.steps
        if step.lowered is None or (step.effect and not (has_effects and _is_hosted(step)))
    ]  # fmt: skip
    values = [operand.value for step in left for operand in step.inputs]
    if unset := sorted({v.name for v in values if isinstance(v, Variable) and v.value is None}):
        advice = "" if model.signatures else "; --fetch names outputs that do not need them"
        raise CannotRun(f"{unset_error(model, unset)}{advice}")
    if left:
        whys = [
            "it has side effects" if step.effect else step.why or "tfport has no ONNX form of it"
            for step in left
        ]
        reasons = [f"`{s.name}` ({s.op}): {w}" for s, w in zip(left[:MAX_LISTED], whys, strict=False)]
        more = f"; and {len(left) - MAX_LISTED} more" if len(left) > MAX_LISTED else ""
        count = "1 node" if len(left) == 1 else f"{len(left)} nodes"
        has_state = options.strings and any("Variable" in step.op for step in left)
        advice = f"; {STATE_ADVICE}" if has_state and not options.state_as_inputs else ""
        listed = f"{'; '.join(reasons)}{more}{advice}"
        raise CannotRun(f"{model.where}: {count} cannot be exported to {to}, only run: {listed}")


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


def island_of(
    program: Program, inputs: Sequence[str], outputs: Sequence[str], options: OnnxOptions
) -> OnnxModel:
    """A lowered program as an ONNX model with these names of its inputs and outputs."""
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
    nodes = list(simplified(nodes, results))
    if options.half_weights:
        nodes = _with_half_weights(nodes)
    model = island_model(nodes, program.args, results, names=names, exported=True, opset=options.opset)
    model.model.ir_version = ir_version(options.opset)
    return model


def _with_half_weights(nodes: Iterable[OnnxNode]) -> list[OnnxNode]:
    """The nodes reading large float32 constants through casts from float16, if no number overflows."""

    @functools.cache
    def cast(weights: Operand) -> Operand:
        half = Operand(FLOAT16, value=weights.value.astype(np.float16), name=weights.name)
        wide = Operand(FLOAT32, weights.shape, name=weights.name)
        casts.append(OnnxNode("Cast", (half,), (wide,), {"to": ONNX_TYPES["float32"]}))
        return wide

    def read(operand: Operand | None) -> Operand | None:
        return cast(operand) if operand is not None and _halves(operand) else operand

    def changed(node: OnnxNode) -> OnnxNode:
        attrs = {k: inner(v) if isinstance(v, Program) else v for k, v in node.attrs.items()}
        return OnnxNode(node.op, tuple(map(read, node.inputs)), node.outputs, attrs, node.domain)

    def inner(program: Program) -> Program:
        lowered = [changed(node) for step in program.steps for node in step.lowered or ()]
        return Program(program.args, [Step("", "", (), (), lowered)], program.results)

    casts: list[OnnxNode] = []
    new = [changed(node) for node in nodes]
    return [*casts, *new]


def _halves(operand: Operand) -> bool:
    array = operand.array
    if array is None or operand.dtype != FLOAT32 or array.nbytes < LEAST_WEIGHTS:
        return False
    return bool(np.abs(array).max() <= np.finfo(np.float16).max)


def _describe(into: pb.ModelProto, model: Model, signature: Signature) -> None:
    """Note the producer, and what the file came from."""
    into.producer_version = installed_version("tfport") or ""
    into.graph.name = signature.name or "main"
    info = model.meta.meta_info_def
    facts = {
        "signature": signature.name,
        "method": signature.method,
        "tags": ",".join(model.tags),
        "tensorflow_version": info.tensorflow_version,
        "written_by": model.written_by or (model.lite.description if model.lite else ""),
    }
    for key, value in facts.items():
        if value:
            into.metadata_props.add(key=key, value=value)
