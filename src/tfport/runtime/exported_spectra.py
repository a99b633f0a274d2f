"""Fourier transforms and complex numbers of an exported ONNX file, which has only real tensors.

A complex tensor is two real ones. Transforms whose lengths are powers of two are ONNX's DFT; others are
products with the matrix of the transform, since ONNX Runtime's DFT of other lengths is off by up to 1e-4. Ops
that move or add numbers are lowered twice, as for real tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfport.graph.dtypes import BOOL, FLOAT32, INT64, DType
from tfport.graph.op_signature import OpTable
from tfport.runtime.engines.engine import Engine
from tfport.runtime.host import group_inputs
from tfport.runtime.implementations import BUILT_IN
from tfport.runtime.lower import CannotLower, constant_of, rank_of
from tfport.runtime.lower_node import NodeLowering
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.lowerings.arithmetic import atan2
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.startup.dataclass import replace

Pair = tuple[Operand, Operand]
"""The real and the imaginary part."""
COMPLEX = "complex64"
LONGEST = 8192
"""The longest transform that is a product: its matrix has the square of this many numbers."""
LINEAR = frozenset(
    ("Add", "AddN", "AddV2", "ConcatV2", "ExpandDims", "GatherV2", "Identity", "Mean", "Neg", "Pack", "Pad",
     "PadV2", "Reshape", "ReverseV2", "Roll", "Select", "SelectV2", "Slice", "Split", "SplitV", "Squeeze",
     "StridedSlice", "Sub", "Sum", "Tile", "Transpose", "Unpack", "ZerosLike")
)  # fmt: skip
"""Ops that treat both parts alike."""
_AXES = {"": 1, "2D": 2, "3D": 3}
FORWARD = {f"{batch}FFT{end}": n for end, n in _AXES.items() for batch in ("", "Batch")}
INVERSE = {f"{batch}IFFT{end}": n for end, n in _AXES.items() for batch in ("", "Batch")}
REAL = {f"RFFT{end}": n for end, n in _AXES.items()}
INVERSE_REAL = {f"IRFFT{end}": n for end, n in _AXES.items()}


def lower_spectra(program: Program, ops: OpTable, engine: Engine) -> None:
    """Lower the steps with complex tensors; what is not possible stays as it is, with the reason."""
    spectra = _Spectra(ops, engine)
    changed = {step: [spectra.lowered(step)] for step in program.steps if _has_complex(step)}
    if changed:
        program.replace(changed)


def _has_complex(step: Step) -> bool:
    return step.lowered is None and any(o.dtype.name == COMPLEX for o in (*step.inputs, *step.outputs))


class _Spectra:
    """Lowers steps in order, and knows the parts of each complex operand."""

    def __init__(self, ops: OpTable, engine: Engine) -> None:
        self.ops, self.engine = ops, engine
        self.pairs: dict[Operand, Pair] = {}

    def lowered(self, step: Step) -> Step:
        b = Builder(step.name)
        try:
            results = self._results(b, step)
        except CannotLower as error:
            return replace(step, why=str(error))
        for output, result in zip(step.outputs, results, strict=True):
            if isinstance(result, tuple):
                self.pairs[output] = result
            else:
                b.added.append(OnnxNode("Identity", (result,), (output,), {}))
        return replace(step, lowered=b.added)

    def _pair(self, b: Builder, operand: Operand) -> Pair:
        if operand.array is not None:
            return b.const(operand.array.real, FLOAT32), b.const(operand.array.imag, FLOAT32)
        if operand not in self.pairs:
            raise CannotLower("it reads complex numbers that ONNX does not support")
        return self.pairs[operand]

    def _results(self, b: Builder, step: Step) -> Sequence[Pair | Operand]:
        op, inputs = step.op, step.inputs
        if op in REAL:
            return [_real_transform(b, inputs[0], inputs[1], REAL[op])]
        if op in INVERSE_REAL:
            return [_inverse_real_transform(b, self._pair(b, inputs[0]), inputs[1], INVERSE_REAL[op])]
        if (axes := FORWARD.get(op) or INVERSE.get(op)) is not None:
            pair = self._pair(b, inputs[0])
            for axis in range(1, axes + 1):
                pair = _transform(b, pair, -axis, inverse=op in INVERSE)
            return [pair]
        if op in LINEAR:
            return self._twice(b, step)
        if op == "Complex":
            return [_broadcast(b, inputs[0], inputs[1])]
        if op == "Cast" and inputs[0].dtype == FLOAT32:
            return [(b.Identity(inputs[0]), _zeros(b, inputs[0]))]
        rule = _OF_PAIRS.get(op)
        if rule is None:
            raise CannotLower(f"ONNX has no {op} of complex numbers")
        return [rule(b, *(self._pair(b, operand) for operand in inputs))]

    def _twice(self, b: Builder, step: Step) -> Sequence[Pair]:
        """The lowering of an op for real tensors, of each part."""
        both = []
        for part in (0, 1):
            inputs = [self._pair(b, o)[part] if o.dtype.name == COMPLEX else o for o in step.inputs]
            both.append(self._for_real(b, step, inputs))
        return list(zip(*both, strict=True))

    def _for_real(self, b: Builder, step: Step, inputs: list[Operand]) -> Sequence[Operand]:
        signature = self.ops.get(step.op)
        assert signature is not None
        attrs = {k: _real_type(v) if isinstance(v, DType) else v for k, v in step.attrs.items()}
        types = [_real_type(o.dtype) for o in step.outputs]
        groups = group_inputs(inputs, attrs, signature)
        lowering = NodeLowering(step, groups, attrs, signature, types)  # type: ignore[arg-type]
        lowered = lowering.try_all(BUILT_IN, self.engine)
        if isinstance(lowered, str):
            raise CannotLower(lowered)
        b.added += lowered.nodes
        return lowered.outputs


def _real_type(dtype: DType) -> DType:
    return FLOAT32 if dtype.name == COMPLEX else dtype


# Transforms


def _lengths(fft_length: Operand, count: int) -> list[int]:
    lengths = [int(n) for n in constant_of(fft_length, "the length of the transform").reshape(-1)]
    if len(lengths) != count or min(lengths) < 1:
        raise CannotLower("it has no usable length")
    return lengths


def _cut(b: Builder, x: Operand, axis: int, length: int) -> Operand:
    """The first numbers along an axis, counted from the end; TensorFlow requires at least as many."""
    if x.shape is not None and x.shape[axis] == length:
        return x
    return b.Slice(x, b.ints(0), b.ints(length), b.ints(rank_of(x) + axis))


def _real_transform(b: Builder, x: Operand, fft_length: Operand, count: int) -> Pair:
    if x.dtype != FLOAT32:
        raise CannotLower("ONNX Runtime transforms float32")
    rank_of(x)
    lengths = _lengths(fft_length, count)
    for axis, length in zip(range(-count, 0), lengths, strict=True):
        x = _cut(b, x, axis, length)
    real, imaginary = _along_last(b, (x, None), lengths[-1], kept=lengths[-1] // 2 + 1)
    is_real = 2 * np.arange(lengths[-1] // 2 + 1) % lengths[-1] == 0
    # with zeros that are positive, as TensorFlow's are: the sign decides on the angle of a negative number
    pair = real, b.Where(b.const(is_real, BOOL), b.const(0, FLOAT32), imaginary)
    for axis in range(2, count + 1):
        pair = _transform(b, pair, -axis, inverse=False)
    return pair


def _inverse_real_transform(b: Builder, pair: Pair, fft_length: Operand, count: int) -> Operand:
    rank_of(pair[0])
    lengths = _lengths(fft_length, count)
    length, kept = lengths[-1], lengths[-1] // 2 + 1
    for axis, size in zip(range(-count, 0), [*lengths[:-1], kept], strict=True):
        pair = _cut(b, pair[0], axis, size), _cut(b, pair[1], axis, size)
    for axis in range(2, count + 1):
        pair = _transform(b, pair, -axis, inverse=True)
    _check_length(length)
    angles = 2 * np.pi / length * (np.arange(kept)[:, None] * np.arange(length) % length)
    weights = np.full((kept, 1), 2 / length)
    weights[0] = 1 / length
    if length % 2 == 0:
        weights[-1] = 1 / length
    cosines, sines = (b.const(weights * f(angles), FLOAT32) for f in (np.cos, np.sin))
    return b.Sub(b.MatMul(pair[0], cosines), b.MatMul(pair[1], sines))


def _transform(b: Builder, pair: Pair, axis: int, *, inverse: bool) -> Pair:
    """A complex transform over the whole length of an axis, counted from the end."""
    rank = rank_of(pair[0])
    shape = pair[0].shape
    length = shape[axis] if shape is not None else None
    if length is None:
        raise CannotLower("the length of the transform is not known")
    if axis == -1:
        return _along_last(b, pair, length, inverse=inverse)
    order = [*range(rank)]
    order[axis], order[-1] = order[-1], order[axis]
    swapped = b.transpose(pair[0], order), b.transpose(pair[1], order)
    real, imaginary = _along_last(b, swapped, length, inverse=inverse)
    return b.transpose(real, order), b.transpose(imaginary, order)


def _along_last(
    b: Builder,
    pair: tuple[Operand, Operand | None],
    length: int,
    *,
    kept: int | None = None,
    inverse: bool = False,
) -> Pair:
    """The transform over the last axis; `kept`: how many frequencies of a real tensor."""
    real, imaginary = pair
    rank = rank_of(real)
    if length & (length - 1) == 0 and length > 1:
        parts = [real] if imaginary is None else [real, imaginary]
        columns = [b.unsqueeze(part, rank) for part in parts]
        x = columns[0] if imaginary is None else b.Concat(*columns, axis=rank)
        shape = (*(real.shape or ())[:-1], kept or length)
        axis = b.const(rank - 1, INT64)
        (out,) = b.nodes(
            "DFT", x, None, axis, shape=(*shape, 2), inverse=int(inverse), onesided=int(kept is not None)
        )
        first, second = (b.Gather(out, b.const(i, INT64), axis=rank) for i in (0, 1))
        return first, second
    _check_length(length)
    angles = 2 * np.pi / length * (np.arange(length)[:, None] * np.arange(kept or length) % length)
    scale, sign = (1 / length, 1) if inverse else (1, -1)
    cosines, sines = b.const(scale * np.cos(angles), FLOAT32), b.const(scale * sign * np.sin(angles), FLOAT32)
    if imaginary is None:
        return b.MatMul(real, cosines), b.MatMul(real, sines)
    return (
        b.Sub(b.MatMul(real, cosines), b.MatMul(imaginary, sines)),
        b.Add(b.MatMul(real, sines), b.MatMul(imaginary, cosines)),
    )


def _check_length(length: int) -> None:
    if length > LONGEST:
        raise CannotLower(f"its length {length} is no power of two and above {LONGEST}")


# Complex numbers


def _zeros(b: Builder, x: Operand) -> Operand:
    return b.Expand(b.const(0, FLOAT32), b.Shape(x))


def _broadcast(b: Builder, real: Operand, imaginary: Operand) -> Pair:
    return b.Add(real, _zeros(b, imaginary)), b.Add(imaginary, _zeros(b, real))


def _magnitude(b: Builder, x: Pair) -> Operand:
    return b.Sqrt(b.Add(b.Mul(x[0], x[0]), b.Mul(x[1], x[1])))


def _product(b: Builder, x: Pair, y: Pair) -> Pair:
    real = b.Sub(b.Mul(x[0], y[0]), b.Mul(x[1], y[1]))
    return real, b.Add(b.Mul(x[0], y[1]), b.Mul(x[1], y[0]))


_OF_PAIRS: dict[str, Callable[..., Pair | Operand]] = {
    "Angle": lambda b, x: atan2(b, x[1], x[0]),  # type: ignore[no-untyped-call]
    "Cast": lambda b, x: x[0],
    "ComplexAbs": _magnitude,
    "Conj": lambda b, x: (x[0], b.Neg(x[1])),
    "Imag": lambda b, x: x[1],
    "Mul": _product,
    "Real": lambda b, x: x[0],
    "Square": lambda b, x: _product(b, x, x),
}
