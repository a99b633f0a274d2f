"""Which TensorFlow Lite files LiteRT may have as they are: it computes or refuses them, whatever they say.

An interpreter cannot be interrupted, so a file must run to an end. Its ops must answer as TensorFlow Lite's
own kernels do, and must not end the process if the file is wrong about them.
"""

from __future__ import annotations

import math

import numpy as np

from tfport.formats.lite.records import NO_TENSOR, LiteFile, LiteOperator, LiteTensor, Subgraph
from tfport.frontends.lite.variables import VariableKey, variable_key

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


def has_resizing(file: LiteFile) -> bool:
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
