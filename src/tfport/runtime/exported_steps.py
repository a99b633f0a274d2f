"""Steps that only an exported ONNX file computes by nodes: tables, detections, images, random numbers, state.

`run` computes them on the host, which is faster and takes any bytes. In a file, a table that never changes is
a LabelEncoder of ONNX's set of ops for classical models. A variable that a call assigns to becomes an input,
whose default is its first value, and an output, which the caller feeds to the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, STRING, DType
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.engines.provider_kernels import ProviderKernels, has_strings
from tfport.runtime.exported_detections import DETECTIONS, Composed
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import ML
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image.kernels.resize import sampled_taps
from tfport.runtime.ops.image.resize_samples import Taps
from tfport.runtime.ops.tables.table import StaticTable
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.runtime.state import Variable
from tfport.startup.dataclass import dataclass, replace

FINDS = ("LookupTableFind", "LookupTableFindV2")
_ENDS = {"string": "strings", "int64": "int64s", "float32": "floats"}
_DEFAULTS = {"string": "default_string", "int64": "default_int64", "float32": "default_float"}


class OnnxFileEngine(OnnxRuntime):
    """ONNX Runtime as it runs an exported file: strings are text there, and the host computes nothing."""

    def takes(self, node: OnnxNode) -> bool:
        if any(node.programs) or not has_strings(node):
            return super().takes(node)
        return node.op in _OF_STRINGS and not _gathers_rows(node) and _KERNELS.has(node)

    def complete(self, program: Program) -> None:
        """Lower what is left of a program, where that is exact."""
        changed: dict[Step, list[Step]] = {}
        for step in program.steps:
            if step.lowered is None and step.op in (*FINDS, *COMPOSED):
                try:
                    nodes = _lookup(step) if step.op in FINDS else _composed(step)
                except CannotLower as error:
                    changed[step] = [replace(step, why=str(error), effect=False)]
                else:
                    changed[step] = [replace(step, lowered=nodes, effect=False)]
        if changed:
            program.replace(changed)


_KERNELS = ProviderKernels(strings=True)
_OF_STRINGS = frozenset(
    ("Cast", "Concat", "Equal", "Expand", "Gather", "GatherND", "Identity", "RegexFullMatch", "Reshape",
     "Shape", "Size", "Slice", "Split", "Squeeze", "StringConcat", "Tile", "Transpose", "Unsqueeze", "Where")
)  # fmt: skip
"""The ops that were tried with strings in ONNX Runtime 1.31.1."""


def _gathers_rows(node: OnnxNode) -> bool:
    """Whether a node gathers more than one string by an index: ONNX Runtime 1.31.1 copies only the first."""
    data = node.inputs[0]
    if node.op != "Gather" or data is None:
        return False
    return data.rank is None or node.attrs.get("axis", 0) not in (-1, data.rank - 1)


def _lookup(step: Step) -> list[OnnxNode]:
    handle, keys, default = step.inputs
    table = handle.value
    if not isinstance(table, StaticTable) or not table.filled or table.value_shape or table.key_shape:
        raise CannotLower("its table can change, or its values are no scalars")
    if default.array is None or default.array.size != 1:
        raise CannotLower("its default is not constant")
    if table.key.name not in ("string", "int64") or table.value_type.name not in _ENDS:
        raise CannotLower(f"ONNX has no table from {table.key} to {table.value_type}")
    known, values = table.export()
    attrs: dict[str, Any] = {
        f"keys_{_ENDS[table.key.name]}": _listed(known, table.key),
        f"values_{_ENDS[table.value_type.name]}": _listed(values, table.value_type),
        _DEFAULTS[table.value_type.name]: _listed(default.array.reshape(-1), table.value_type)[0],
    }
    b = Builder(step.name)
    b.added.append(OnnxNode("LabelEncoder", (keys,), step.outputs, attrs, ML))
    return b.added


def _random(op: str) -> Callable[..., list[Operand]]:
    """Random numbers of another generator: without a seed, TensorFlow's differ in each run too."""

    def lowered(
        b: Builder, shape: Operand, *, dtype: DType, seed: int, seed2: int, **_: Any
    ) -> list[Operand]:
        if dtype != FLOAT32 or seed or seed2:
            raise CannotLower("its seed gives the numbers of TensorFlow's generator, which ONNX lacks")
        like = b.Expand(b.const(0, FLOAT32), b.vector(shape))
        return [getattr(b, op)(like)]

    return lowered


RANDOM: Composed = {
    "RandomUniform": _random("RandomUniformLike"),
    "RandomStandardNormal": _random("RandomNormalLike"),
}


def _scale_and_translate(
    b: Builder,
    images: Operand,
    size: Operand,
    scale: Operand,
    translation: Operand,
    *,
    kernel_type: str,
    antialias: bool,
    **_: Any,
) -> list[Operand]:
    """Products with the weights of the rows and of the columns, if these do not depend on the inputs."""
    if images.shape is None or None in images.shape[1:3]:
        raise CannotLower("the height or width of its images is unknown; --input-shape states sizes")
    if size.array is None or scale.array is None or translation.array is None:
        raise CannotLower("its size, scale or translation is not constant")
    in_size = images.shape[1:3]
    taps = sampled_taps(in_size, size.array, scale.array, translation.array, kernel_type, antialias)
    rows, columns = (_matrix(each, old) for each, old in zip(taps, in_size, strict=True))
    resized = b.Einsum(b.const(rows, FLOAT32), b.cast(images, FLOAT32), equation="ph,bhwc->bpwc")
    return [b.MatMul(b.const(columns, FLOAT32), resized)]


def _matrix(taps: Taps, size: int | None) -> Any:
    """The weight of each old pixel in each new one."""
    weights = np.zeros((len(taps.at), size or 0), np.float32)
    np.add.at(weights, (np.arange(len(taps.at))[:, None], taps.at), taps.weights)
    return weights


COMPOSED: Composed = {**DETECTIONS, **RANDOM, "ScaleAndTranslate": _scale_and_translate}


def _composed(step: Step) -> list[OnnxNode]:
    b = Builder(step.name)
    results = COMPOSED[step.op](b, *step.inputs, **step.attrs)
    for output, result in zip(step.outputs, results, strict=True):
        b.added.append(OnnxNode("Identity", (result,), (output,), {}))
    return b.added


def _listed(array: Any, dtype: DType) -> list[Any]:
    if dtype != STRING:
        return np.asarray(array).reshape(-1).tolist()
    try:
        return [bytes(text).decode() for text in array.reshape(-1).tolist()]
    except UnicodeDecodeError:
        raise CannotLower("its table has strings that are not UTF-8") from None


def bad_texts(program: Program) -> list[Operand]:
    """The string constants of the nodes that are not UTF-8, which ONNX's strings are."""
    nodes = (node for step in program.steps for node in step.lowered or ())
    constants = {o: None for node in nodes for o in node.inputs if o is not None and o.dtype == STRING}
    return [o for o in constants if o.array is not None and not _is_text(o.array)]


def _is_text(array: Any) -> bool:
    try:
        return all(bytes(text).decode() is not None for text in array.reshape(-1).tolist())
    except UnicodeDecodeError:
        return False


# Variables that a call assigns to

READS, ASSIGNS = ("ReadVariableOp",), ("AssignVariableOp",)
CHANGES = {"AssignAddVariableOp": "Add", "AssignSubVariableOp": "Sub"}
STATE_ADVICE = "--state-as-inputs makes its variables inputs and outputs"


@dataclass(frozen=True, slots=True)
class ExportedState:
    """A variable as an input and an output of a file."""

    name: str
    before: Operand
    after: Operand
    first: Any
    """Its value before the first call."""


def state_as_ends(program: Program) -> list[ExportedState]:
    """Make the variables that a program assigns to arguments and results, where nothing else has effects."""
    before: dict[Variable, Operand] = {}
    now: dict[Variable, Operand] = {}
    changed: dict[Step, list[Step]] = {}
    for step in program.steps:
        variable = step.inputs[0].value if step.inputs else None
        if not isinstance(variable, Variable) or variable.value is None:
            continue
        if step.op not in (*READS, *ASSIGNS, *CHANGES):
            return []
        value = np.asarray(variable.value)
        if variable not in now:
            now[variable] = before[variable] = Operand(variable.dtype, value.shape, name=variable.name)
        if step.op in READS:
            copy = OnnxNode("Identity", (now[variable],), step.outputs, {})
            changed[step] = [replace(step, lowered=[copy], inputs=(now[variable],), effect=False)]
        elif step.op in ASSIGNS:
            now[variable] = step.inputs[1]
            changed[step] = []
        else:
            after = Operand(variable.dtype, value.shape, name=variable.name)
            node = OnnxNode(CHANGES[step.op], (now[variable], step.inputs[1]), (after,), {})
            reads = now[variable], step.inputs[1]
            changed[step] = [replace(step, lowered=[node], effect=False, inputs=reads, outputs=(after,))]
            now[variable] = after
    states = [
        ExportedState(variable.name, operand, now[variable], np.asarray(variable.value))
        for variable, operand in before.items()
    ]
    program.args = [*program.args, *(state.before for state in states)]
    program.results = [*program.results, *(state.after for state in states)]
    program.replace(changed)
    return states
