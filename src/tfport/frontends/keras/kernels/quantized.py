"""Products with quantized kernels, as Dense and EinsumDense of Keras 3 compute them.

`int8` and `int4` also round the input, row by row, where the version does; `float8` rounds input and
kernel; `gptq` and `awq` only store the kernel in few bits.
"""

from __future__ import annotations

from math import ceil, prod

from tfport.formats.keras.records import BY_PATH, Json
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import (
    expand_dims,
    gather,
    matmul,
    reduce,
    reshape,
    slice_axis,
    squeeze,
    stack,
    transpose,
)
from tfport.graph.building.node_builder import Dims
from tfport.graph.building.products import einsum, einsum_axes
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.startup.dataclass import dataclass

INT8, UINT8 = DType.parse("int8"), DType.parse("uint8")
EPSILON = 1e-7
AMAX_HISTORY = 1024
"""How many maxima the layers of the policy float8 store."""
BLOCKS_SINCE = (3, 14)
"""The version since which `int4` has blocks, packs columns and leaves the input as it is."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """A mode of quantization with its numbers: `int4/128`, `gptq/4/-1`."""

    mode: str
    bits: int = 4
    group_size: int = -1

    @staticmethod
    def of(text: str) -> Quantization:
        mode, *numbers = text.split("/")
        if mode == "int4":
            return Quantization(mode, 4, int(numbers[0]) if numbers else -1)
        return Quantization(mode, *(int(number) for number in numbers))

    def groups(self, inputs: int) -> int:
        return 1 if self.group_size == -1 else ceil(inputs / self.group_size)


def quantized_dense(b: LayerBuilder, x: LayerTensor, units: int, use_bias: bool, config: Json) -> LayerTensor:
    """The product with the kernel that the policy of the layer quantizes, with the bias added."""
    how = Quantization.of(b.policy.quantization)
    inputs = x.shape[-1]
    if inputs is None:
        raise b.refuse("the size of its input is unknown")
    if how.mode in ("gptq", "awq"):
        bias = b.weight("bias", (units,)) if use_bias else None
        y = matmul(b, x, _grouped_kernel(b, how, inputs, units))
    elif how.mode == "float8":
        kernel = b.weight("kernel", (inputs, units))
        bias = b.weight("bias", (units,)) if use_bias else None
        input_scale, kernel_scale = float8_scales(b)
        y = matmul(b, through_float8(b, x, input_scale), through_float8(b, kernel, kernel_scale))
        bias = bias if bias is None else through_bfloat16(b, bias)
    elif how.mode in ("int8", "int4"):
        y, bias = _integer_product(b, x, how, units, use_bias, config)
    else:
        raise b.refuse(f"it is quantized as `{b.policy.quantization}`, which is unknown")
    return y if bias is None else b.Add(y, bias)


def _integer_product(
    b: LayerBuilder, x: LayerTensor, how: Quantization, units: int, use_bias: bool, config: Json
) -> tuple[LayerTensor, LayerTensor | None]:
    inputs, bias_shape = x.shape[-1] or 0, (units,) if use_bias else None
    if how.mode == "int4" and b.version.numbers >= BLOCKS_SINCE:
        kernel, bias = kernel_in_blocks(b, how, inputs, units, bias_shape)
        if not quantizes_inputs(config, by_default=False):
            return matmul(b, x, kernel), bias
        x, scale = rounded(b, x, [-1])
        return b.RealDiv(matmul(b, x, kernel), scale), bias
    rows = inputs if how.mode == "int8" else ceil(inputs / 2)
    stored = b.weight("kernel", (rows, units), trainable=comes_first(b), dtype=INT8)
    bias = b.weight("bias", bias_shape) if bias_shape is not None else None
    scale = b.weight("kernel_scale", (units,), trainable=comes_first(b))
    kernel = b.cast(stored, b.dtype)
    if how.mode == "int4":
        kernel = unpacked(b, kernel, 0, inputs, is_signed=True)
    if quantizes_inputs(config):
        x, row_scale = rounded(b, x, [-1])
        scale = b.Mul(row_scale, scale)
    return b.RealDiv(matmul(b, x, kernel), scale), bias


def kernel_in_blocks(
    b: LayerBuilder, how: Quantization, rows: int, columns: int, bias_shape: Dims | None
) -> tuple[LayerTensor, LayerTensor | None]:
    """A matrix of 4 bits whose blocks of rows have a scale and a zero each; then the bias, if any."""
    packed = b.weight("kernel", (rows, ceil(columns / 2)), trainable=comes_first(b), dtype=INT8)
    values = unpacked(b, b.cast(packed, b.dtype), 1, columns, is_signed=True)
    bias = b.weight("bias", bias_shape) if bias_shape is not None else None
    if how.group_size == -1:
        return b.RealDiv(values, b.weight("kernel_scale", (columns,), trainable=comes_first(b))), bias
    dims = (how.groups(rows), columns)
    scale = b.weight("kernel_scale", dims, trainable=comes_first(b))
    zero = b.cast(b.weight("kernel_zero", dims, trainable=comes_first(b), dtype=INT8), b.dtype)
    groups = b.cast(b.weight("g_idx", (rows,), trainable=comes_first(b), dtype=FLOAT32), INT32)
    return b.Mul(b.Sub(values, gather(b, zero, groups)), gather(b, scale, groups)), bias


def comes_first(b: LayerBuilder) -> bool:
    """Whether weights that do not train are stored in the order of the class: not in files by layer."""
    stored = b.model.file.weights
    return stored is not None and stored.layout == BY_PATH


def quantizes_inputs(config: Json, *, by_default: bool = True) -> bool:
    """Whether the input is rounded too: as the configuration says, or as the version does by default."""
    if isinstance(config, dict) and "activation_quantizer" in (options := config.get("config") or {}):
        return options["activation_quantizer"] is not None
    return by_default


def rounded(b: LayerBuilder, x: LayerTensor, axes: list[int]) -> tuple[LayerTensor, LayerTensor]:
    """Whole numbers from -127 to 127 along axes, and the factors that they were multiplied with."""
    largest = b.Add(reduce(b, "Max", b.Abs(x), axes, keep=True), EPSILON)
    scale = b.RealDiv(127.0, largest)
    return b.Minimum(b.Maximum(b.Rint(b.Mul(x, scale)), -127.0), 127.0), scale


def unpacked(b: LayerBuilder, packed: LayerTensor, axis: int, size: int, *, is_signed: bool) -> LayerTensor:
    """Numbers of 4 bits from bytes along an axis: the low half of a byte, then the high half."""
    high = b.Floor(b.Mul(packed, 0.0625))
    low = b.Sub(packed, b.Mul(high, 16.0))
    if is_signed:
        low = b.Sub(low, b.Mul(b.cast(b.GreaterEqual(low, 8.0), low.dtype), 16.0))
    pairs = stack(b, [low, high], axis + 1)
    dims = list(packed.shape)
    dims[axis] = 2 * (dims[axis] or 0)
    return slice_axis(b, reshape(b, pairs, dims), axis, 0, size)


def _grouped_kernel(b: LayerBuilder, how: Quantization, inputs: int, units: int) -> LayerTensor:
    """A kernel in few bits whose groups of inputs have a scale and a zero each."""
    rows = ceil(units / 2) if how.bits == 4 else units
    stored = b.cast(
        b.weight("quantized_kernel", (rows, inputs), trainable=comes_first(b), dtype=UINT8), b.dtype
    )
    dims = (units, how.groups(inputs))
    scale = b.weight("kernel_scale", dims, trainable=comes_first(b))
    zero = b.cast(b.weight("kernel_zero", dims, trainable=comes_first(b), dtype=UINT8), b.dtype)
    factors = b.weight("awq_scales", (inputs,), trainable=comes_first(b)) if how.mode == "awq" else None
    groups = b.cast(b.weight("g_idx", (inputs,), trainable=comes_first(b), dtype=FLOAT32), INT32)
    values = unpacked(b, stored, 0, units, is_signed=False) if how.bits == 4 else stored
    kernel = b.Mul(b.Sub(values, gather(b, zero, groups, 1)), gather(b, scale, groups, 1))
    kernel = transpose(b, kernel, (1, 0))
    return kernel if factors is None else b.RealDiv(kernel, expand_dims(b, factors, -1))


def float8_scales(b: LayerBuilder) -> tuple[LayerTensor, LayerTensor]:
    """The scales of the input and the kernel; what training needs is stored beside them."""
    scales = []
    for name in ("inputs", "kernel", "outputs_grad"):
        scales.append(b.weight(f"{name}_scale", (), dtype=FLOAT32))
        b.weight(f"{name}_amax_history", (AMAX_HISTORY,), dtype=FLOAT32)
    return b.cast(scales[0], b.dtype), b.cast(scales[1], b.dtype)


def through_float8(b: LayerBuilder, x: LayerTensor, scale: LayerTensor) -> LayerTensor:
    """Elements rounded to float8_e4m3fn: four significant bits, and a smallest step of 2**-9."""
    wide = b.cast(b.Minimum(b.Maximum(b.RealDiv(x, scale), -448.0), 448.0), FLOAT32)
    above = b.cast(b.GreaterEqual(b.Abs(wide), 2.0**-6), FLOAT32)
    small = b.Mul(b.Rint(b.Mul(wide, 2.0**9)), 2.0**-9)
    rounded = b.Add(b.Mul(_significant(b, wide, 4), above), b.Mul(small, b.Sub(1.0, above)))
    return b.Mul(b.cast(rounded, x.dtype), scale)


def _significant(b: LayerBuilder, x: LayerTensor, bits: int) -> LayerTensor:
    """float32 rounded to fewer significant bits, by the splitting of Veltkamp."""
    spread = b.Mul(x, float(2 ** (24 - bits) + 1))
    return b.Sub(spread, b.Sub(spread, x))


def through_bfloat16(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """Elements rounded to bfloat16, as the fused product rounds its bias."""
    return _significant(b, x, 8) if x.dtype == FLOAT32 else x


# EinsumDense

Biased = tuple[LayerTensor, LayerTensor | None]
"""A product, and the bias to add."""


@dataclass(frozen=True, slots=True)
class QuantizedEinsum:
    """An equation with the shapes of its kernel and bias, and how the kernel is quantized."""

    b: LayerBuilder
    equation: str
    shape: Dims
    bias_shape: Dims | None
    config: Json

    def __call__(self, x: LayerTensor) -> LayerTensor:
        """The sum of products with the bias added."""
        how = Quantization.of(self.b.policy.quantization)
        if how.mode == "int8":
            y, bias = self._int8(x)
        elif how.mode == "float8":
            y, bias = self._float8(x)
        elif how.mode == "int4" and self._has_plain_blocks():
            y, bias = self._int4(x, how)
        else:
            text = self.b.policy.quantization
            raise self.b.refuse(f"its kernel is quantized as `{text}`, which tfport does not build")
        return y if bias is None else self.b.Add(y, bias)

    def _has_plain_blocks(self) -> bool:
        is_new = self.b.version.numbers >= BLOCKS_SINCE
        return is_new and not quantizes_inputs(self.config, by_default=False)

    def _bias(self) -> LayerTensor | None:
        return self.b.weight("bias", self.bias_shape) if self.bias_shape is not None else None

    def _float8(self, x: LayerTensor) -> Biased:
        b = self.b
        kernel, bias = b.weight("kernel", self.shape), self._bias()
        input_scale, kernel_scale = float8_scales(b)
        operands = through_float8(b, x, input_scale), through_float8(b, kernel, kernel_scale)
        return einsum(b, self.equation, *operands), None if bias is None else through_bfloat16(b, bias)

    def _int4(self, x: LayerTensor, how: Quantization) -> Biased:
        """The kernel is stored as a matrix: of the summed axes and of the others."""
        (_, letters), output = einsum_axes(self.b, self.equation, (x.rank, len(self.shape)))
        sizes = dict(zip(letters, (size or 0 for size in self.shape), strict=True))
        rows = prod(size for letter, size in sizes.items() if letter not in output)
        columns = prod(size for letter, size in sizes.items() if letter in output)
        kernel, bias = kernel_in_blocks(self.b, how, rows, columns, self.bias_shape)
        return einsum(self.b, self.equation, x, reshape(self.b, kernel, self.shape)), bias

    def _int8(self, x: LayerTensor) -> Biased:
        b = self.b
        stored = b.weight("kernel", self.shape, trainable=comes_first(b), dtype=INT8)
        bias = self._bias()
        (letters, kernel_letters), output = einsum_axes(b, self.equation, (x.rank, len(self.shape)))
        known = dict(zip(kernel_letters, self.shape, strict=True))
        dims = [known[letter] if letter in known and letter not in letters else 1 for letter in output]
        scale = b.weight("kernel_scale", dims, trainable=comes_first(b))
        if quantizes_inputs(self.config):
            summed = [index for index, letter in enumerate(letters) if letter not in output]
            x, input_scale = rounded(b, x, summed)
            for index in reversed(summed):
                input_scale = squeeze(b, input_scale, index)
            kept = [letter for letter in letters if letter in output]
            scale = b.Mul(scale, _at_letters(b, input_scale, kept, output))
        return b.RealDiv(einsum(b, self.equation, x, b.cast(stored, b.dtype)), scale), bias


def _at_letters(b: LayerBuilder, x: LayerTensor, letters: list[str], output: list[str]) -> LayerTensor:
    """A tensor with an axis for each letter of an output; those that it does not have get the size 1."""
    ordered = [letter for letter in output if letter in letters]
    x = transpose(b, x, [letters.index(letter) for letter in ordered])
    for index, letter in enumerate(output):
        x = x if letter in letters else expand_dims(b, x, index)
    return x
