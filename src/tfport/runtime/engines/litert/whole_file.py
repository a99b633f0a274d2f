"""A TensorFlow Lite file that LiteRT runs unchanged: the answers are those of its interpreter.

That needs a file without loops, as an interpreter cannot be interrupted. Other files, and those that LiteRT
rejects, run like other models, island by island. So do those of ops that may end the process if a file is
wrong about them, unless the user chose LiteRT.

The variables of a file are in its interpreter, so that a session has one for all its runs, and runs nothing
else (`StatefulFile`). Their sizes must be known, and an initializer must set them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.extras import is_installed
from tfport.formats.lite.records import NO_TENSOR, LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.frontends.lite.build import file_signatures
from tfport.frontends.lite.variables import VariableKey, variable_key
from tfport.graph.model import Model
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import EngineFailed, LiteFiles
from tfport.runtime.engines.litert.litert import PACKAGE, Interpreters, sentence_of
from tfport.startup.dataclass import dataclass, field

NOT_ALONE = frozenset(["CALL", "IF", "STABLEHLO_WHILE", "WHILE", "CUSTOM"])
"""Operators that may run for ever, or that LiteRT lacks or answers from memory that it did not write
(`TFLite_Detection_PostProcess`)."""
OF_VARIABLES = frozenset(["ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"])

ROBUST = frozenset((
    "ABS", "ADD", "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONCATENATION", "CONV_2D", "COS", "DEPTHWISE_CONV_2D",
    "DEQUANTIZE", "DIV", "ELU", "EXPAND_DIMS", "FLOOR", "FULLY_CONNECTED", "GELU", "HARD_SWISH",
    "LEAKY_RELU", "LOG", "LOGISTIC", "LOG_SOFTMAX", "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM", "MUL",
    "NEG", "PACK", "PAD", "PADV2", "POW", "PRELU", "QUANTIZE", "REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6",
    "RELU_0_TO_1", "RELU_N1_TO_1", "RESHAPE", "SHAPE",
    "SIN", "SLICE", "SOFTMAX", "SPLIT", "SPLIT_V", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SQUEEZE",
    "STRIDED_SLICE", "SUB", "SUM", "TANH", "TRANSPOSE", "TRANSPOSE_CONV", "UNPACK",
))  # fmt: skip
"""Ops of networks, with the recorded answers. Sound files of them, damaged at random, did not end the process
(`tools/fuzz_lite.py`); files that resize images did, so these must be sound in every respect
(`_resizes_well`). XNNPACK's EXP rounds more."""
RESIZING = "RESIZE_BILINEAR"
REQUIRING = ROBUST | {RESIZING, "RSQRT"}
LEAST_ROOTED = 1e-20
"""XNNPACK's RSQRT of 0 and of numbers below 1e-37 is NaN."""
WEIGHTED = frozenset(["BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
COUNTS = {"PACK": "values_count", "SPLIT": "num_splits", "SPLIT_V": "num_splits", "UNPACK": "num"}
"""The options that say how many outputs there are; for PACK, inputs."""
BIASES = {"CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}
"""The inputs that may be left out."""
QUANTIZED = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-(2**15), 2**15 - 1)}
"""The numbers of a type, and so its zero points; 0 for other types."""
PLAIN = frozenset(["BOOL", "FLOAT32", "INT8", "INT16", "INT32", "INT64", "UINT8"])


@dataclass
class WholeFile:
    """A file, and the tensors of its first subgraph by their names in the graph."""

    content: memoryview
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    threads: int
    shapes: Sequence[tuple[int, ...]] = ()
    """Those that the tensors must have when LiteRT has allocated them; of a file with state."""
    input_sizes: Mapping[int, tuple[int, ...]] | None = None
    """Those that its inputs must have; None if it may be computed for others."""

    @property
    def has_state(self) -> bool:
        return bool(self.shapes)

    @functools.cached_property
    def the_only_one(self) -> Interpreters:
        """The interpreter that has the state; an error if a variable would change its size."""
        interpreters = Interpreters(bytes(self.content), self.threads, most=1)
        with interpreters.one() as interpreter:
            details = interpreter.get_tensor_details()
        if any(tuple(d["shape"].tolist()) != self.shapes[d["index"]] for d in details[: len(self.shapes)]):
            raise Error("the operators compute other sizes than the file states")
        return interpreters

    def plan(self, fetches: Sequence[str], feeds: Sequence[str]) -> WholeFilePlan | None:
        """A plan for the inputs and outputs of the file; None for others, or if LiteRT rejects it."""
        if set(feeds) != set(self.inputs) or not set(fetches) <= set(self.outputs):
            return None
        try:
            own = self.the_only_one if self.has_state else Interpreters(bytes(self.content), self.threads)
        except Error:
            return None
        inputs, outputs = [self.inputs[name] for name in feeds], [self.outputs[name] for name in fetches]
        only = None if self.input_sizes is None else [self.input_sizes[index] for index in inputs]
        return WholeFilePlan(own, inputs, outputs, resizes=not self.has_state, only=only)


@dataclass(frozen=True)
class WholeFilePlan:
    """Runs a file in interpreters."""

    interpreters: Interpreters
    inputs: Sequence[int]
    outputs: Sequence[int]
    sizes: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    """The sizes of the inputs in the last run of each interpreter, which are kept as long as the plan."""
    resizes: bool = True
    only: Sequence[tuple[int, ...]] | None = None
    """The only sizes of the inputs, if there are no others."""
    is_steady = True
    name = "litert"

    def run(self, arrays: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        scope = current_scope()
        if scope is not None:
            scope.stop.check()
        interpreter = self.interpreters.take()
        try:
            if self.resizes:
                self._resize(interpreter, arrays)
            for tensor, array in zip(self.inputs, arrays, strict=True):
                interpreter.set_tensor(tensor, array)
            interpreter.invoke()
            results = [*map(interpreter.get_tensor, self.outputs)]
        except (RuntimeError, ValueError) as error:
            raise EngineFailed(sentence_of(error)) from None
        finally:
            self.interpreters.give_back(interpreter)
        if scope is not None:
            scope.stop.check()
        return results

    run_from_host = run

    def _resize(self, interpreter: Any, arrays: Sequence[Any]) -> None:
        """Give the inputs of an interpreter the sizes of these arrays, if it had others in its last run."""
        sizes = [array.shape for array in arrays]
        if self.sizes.get(id(interpreter)) == sizes:
            return
        # resizing an empty image ends the process in LiteRT 2.3.0
        if any(0 in size for size in sizes) or (self.only is not None and sizes != self.only):
            raise EngineFailed("an input is empty, or has another size than the file states")
        self.sizes.pop(id(interpreter), None)  # until they are allocated
        for tensor, size in zip(self.inputs, sizes, strict=True):
            interpreter.resize_tensor_input(tensor, size)
        interpreter.allocate_tensors()
        self.sizes[id(interpreter)] = sizes


def whole_file(model: Model, threads: int, which: LiteFiles) -> WholeFile | None:
    """The file of a model that nobody changed, if LiteRT is installed and may run it."""
    file = model.lite
    if file is None or not is_installed(PACKAGE):
        return None
    has_state = not may_run_alone(file)
    if has_state and not keeps_plain_state(file):
        return None
    if which is not LiteFiles.ALL and not is_robust(file):
        return None
    content = model.unchanged_file(model.graph) if model.unchanged_file is not None else None
    if content is None:
        return None
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for key, number, own_inputs, own_outputs in file_signatures(file):
        signature = model.signatures.get(key)
        if number == 0 and signature is not None:
            inputs |= {signature.inputs[name].tensors[0]: index for name, index in own_inputs.items()}
            outputs |= {signature.outputs[name].tensors[0]: index for name, index in own_outputs.items()}
    if set(inputs.values()) != set(file.subgraphs[0].inputs):
        return None
    shapes = [tensor.shape for tensor in file.subgraphs[0].tensors] if has_state else []
    sizes = {index: file.subgraphs[0].tensors[index].shape for index in inputs.values()}
    return WholeFile(content, inputs, outputs, threads, shapes, sizes if _has_resizing(file) else None)


def may_run_alone(file: LiteFile) -> bool:
    """Whether one interpreter may run a file again and again: without state, and to an end."""
    codes = {operator.code.op for subgraph in file.subgraphs for operator in subgraph.operators}
    return may_run_in_turn(file) and codes.isdisjoint(OF_VARIABLES)


def may_run_in_turn(file: LiteFile) -> bool:
    """Whether one interpreter may run a file, call after call, each to an end."""
    if not file.subgraphs or file.external_buffers or file.external_buffer_groups:
        return False
    return all(map(_is_plain, file.subgraphs))


def keeps_plain_state(file: LiteFile) -> bool:
    """Whether a file has variables of known types and sizes, all set to constants before the first call.

    It must have no other subgraphs, and its tensors known sizes: LiteRT then computes no sizes anew.
    """
    if not may_run_in_turn(file) or len(file.subgraphs) != 2 or any(s.subgraph for s in file.signatures):
        return False
    main, once = file.subgraphs
    calls = [operator for operator in main.operators if operator.code.op == "CALL_ONCE"]
    tensors = [*main.tensors, *once.tensors]
    if main.operators[:1] != calls or calls[0].options.get("init_subgraph_index") != 1:
        return False
    if any(-1 in tensor.shape_signature or 0 in tensor.shape for tensor in tensors):
        return False
    computed = [*main.inputs, *(index for operator in main.operators for index in operator.outputs)]
    if any(main.tensors[index].type in ("INT32", "INT64") for index in computed):
        return False  # they may be sizes
    if not all(_sets_or_names_a_variable(file, once, operator) for operator in once.operators):
        return False
    initial, used = _accesses(once), _accesses(main)
    if initial is None or used is None:
        return False
    return all(len(forms) == 1 and initial.get(key) == forms for key, forms in used.items())


def _sets_or_names_a_variable(file: LiteFile, subgraph: Subgraph, operator: LiteOperator) -> bool:
    """Whether an operator of the initializer is a handle, or assigns a constant of a usual type."""
    if operator.code.op == "VAR_HANDLE":
        return True
    if operator.code.op != "ASSIGN_VARIABLE" or len(operator.inputs) != 2:
        return False
    value = subgraph.tensors[operator.inputs[1]]
    return value.type in PLAIN and bool(len(file.buffers[value.buffer]))


def _accesses(subgraph: Subgraph) -> dict[VariableKey, set[tuple[str, tuple[int, ...]]]] | None:
    """The types and shapes that are read or assigned of each variable; None if handles have another use."""
    handles: dict[int, VariableKey] = {}
    forms: dict[VariableKey, set[tuple[str, tuple[int, ...]]]] = {}
    for operator in subgraph.operators:
        if operator.code.op == "VAR_HANDLE" and len(operator.outputs) == 1:
            handles[operator.outputs[0]] = variable_key(operator)
        elif operator.code.op in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            ends = operator.outputs if operator.code.op == "READ_VARIABLE" else operator.inputs[1:]
            if len(ends) != 1 or not operator.inputs or operator.inputs[0] not in handles:
                return None
            tensor = subgraph.tensors[ends[0]]
            forms.setdefault(handles[operator.inputs[0]], set()).add((tensor.type, tensor.shape))
        elif not handles.keys().isdisjoint((*operator.inputs, *operator.outputs)):
            return None
    return None if not handles.keys().isdisjoint((*subgraph.inputs, *subgraph.outputs)) else forms


def is_robust(file: LiteFile) -> bool:
    """Whether LiteRT computes or refuses a file, whatever it says, in answers that NumPy has types for."""
    ops = ROBUST | OF_VARIABLES if keeps_plain_state(file) else ROBUST
    return all(
        all(
            _counts_well(operator)
            and (
                operator.code.op in ops
                or _is_root_of_positive(operator, subgraph, file)
                or _resizes_well(operator, subgraph, file)
            )
            for operator in subgraph.operators
        )
        and not any(_is_hybrid(operator, subgraph) for operator in subgraph.operators)
        and all(map(_is_sound, subgraph.tensors))
        and all(subgraph.tensors[i].type in PLAIN for i in (*subgraph.inputs, *subgraph.outputs))
        for subgraph in file.subgraphs
    )


def _is_sound(tensor: LiteTensor) -> bool:
    """Whether a tensor's numbers are within the bounds that interpreters take for granted."""
    quantization = tensor.quantization
    if tensor.sparsity is not None:
        return False
    if quantization is None:
        return True
    least, most = QUANTIZED.get(tensor.type, (0, 0))
    scales, points = quantization.scale, quantization.zero_point
    channels = tensor.shape[quantization.axis] if 0 <= quantization.axis < len(tensor.shape) else 1
    return (
        len(points) in (0, len(scales))
        and len(scales) in (0, 1, channels)
        and all(0 < scale < math.inf for scale in scales)
        and all(least <= point <= most for point in points)
    )


def _counts_well(operator: LiteOperator) -> bool:
    """Whether an operator has as many inputs or outputs as its options say: LiteRT believes these."""
    pack, option = operator.code.op == "PACK", COUNTS.get(operator.code.op)
    stated = operator.options.get(option, 0) if option else None
    return stated is None or stated == len(operator.inputs if pack else operator.outputs)


def _is_hybrid(operator: LiteOperator, subgraph: Subgraph) -> bool:
    """Whether floats meet quantized weights: XNNPACK rounds the floats otherwise than TensorFlow Lite."""
    if operator.code.op not in WEIGHTED:
        return False
    types = {subgraph.tensors[index].type for index in operator.inputs[:3] if index >= 0}
    return "FLOAT32" in types and bool(types - {"FLOAT32", "INT32"})


def _is_root_of_positive(operator: LiteOperator, subgraph: Subgraph, file: LiteFile) -> bool:
    """Whether an operator is the RSQRT of a mean of squares and a positive constant, as layers normalize."""
    if operator.code.op != "RSQRT":
        return False
    makers = {output: maker for maker in subgraph.operators for output in maker.outputs}
    total = makers.get(operator.inputs[0])
    if total is None or total.code.op != "ADD":
        return False
    means = [makers[index] for index in total.inputs if index in makers]
    constants = [file.buffers[subgraph.tensors[i].buffer] for i in total.inputs if i not in makers]
    if len(means) != 1 or means[0].code.op != "MEAN" or len(constants) != 1 or len(constants[0]) % 4:
        return False
    squares = makers.get(means[0].inputs[0])
    if squares is None or subgraph.tensors[operator.inputs[0]].type != "FLOAT32":
        return False
    is_square = squares.code.op == "MUL" and len(set(squares.inputs)) == 1
    least = np.frombuffer(constants[0], "<f4").min(initial=math.inf)
    is_square |= squares.code.op in ("SQUARE", "SQUARED_DIFFERENCE")
    return bool(is_square and LEAST_ROOTED < least < math.inf)


def _resizes_well(operator: LiteOperator, subgraph: Subgraph, file: LiteFile) -> bool:
    """Whether an operator makes one image of known size of another, as the shapes and its constant say."""
    if operator.code.op != RESIZING or len(operator.inputs) != 2 or len(operator.outputs) != 1:
        return False
    image, size, result = (subgraph.tensors[i] for i in (*operator.inputs, *operator.outputs))
    if any(t.type != "FLOAT32" or len(t.shape) != 4 or not _is_fixed(t) for t in (image, result)):
        return False
    content = bytes(file.buffers[size.buffer])
    if (size.type, tuple(size.shape), len(content)) != ("INT32", (2,), 8):
        return False
    return (image.shape[0], *np.frombuffer(content, "<i4"), image.shape[3]) == tuple(result.shape)


def _has_resizing(file: LiteFile) -> bool:
    return any(operator.code.op == RESIZING for s in file.subgraphs for operator in s.operators)


def _is_fixed(tensor: LiteTensor) -> bool:
    """Whether a tensor has one size, and elements."""
    return all(size > 0 for size in (*tensor.shape, *tensor.shape_signature))


def _ends_the_process(operator: LiteOperator) -> bool:
    """Whether an input is left out that LiteRT 2.3.0 believes to be there: it ends by a segmentation fault.

    That is the bias of a depthwise convolution (with XNNPACK), and any input but a bias of other usual ops.
    """
    op, inputs = operator.code.op, operator.inputs
    if op == "DEPTHWISE_CONV_2D" and len(inputs) < 3:
        return True
    bias = BIASES.get(op)
    return op in REQUIRING and any(n == NO_TENSOR and at != bias for at, n in enumerate(inputs))


def _is_plain(subgraph: Subgraph) -> bool:
    ends = [subgraph.tensors[index] for index in (*subgraph.inputs, *subgraph.outputs)]
    return (
        not any(operator.code.op in NOT_ALONE for operator in subgraph.operators)
        and not any(map(_ends_the_process, subgraph.operators))
        and not any(tensor.is_variable for tensor in subgraph.tensors)
        and not any(tensor.type in ("STRING", "RESOURCE", "VARIANT") for tensor in ends)
    )
