"""What a TensorFlow Lite file says: operator codes, subgraphs, tensors, signatures and metadata.

Names of types, ops, enums and options are those of the schema. Records are plain: `write` turns changed
ones into a file again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.startup.dataclass import dataclass, field

CUSTOM = "CUSTOM"
FLEX = "Flex"
"""The prefix of custom codes that are TensorFlow ops."""
NO_TENSOR = -1
"""The index of an optional input that is left out."""


@dataclass(frozen=True, slots=True)
class OperatorCode:
    """An op that the file uses, with its version: what an interpreter resolves when it loads the file."""

    op: str
    """`CONV_2D`; `CUSTOM` for a custom op; `BUILTIN_300` for a number that the schema does not know."""
    number: int
    version: int = 1
    custom: str = ""
    """The name of a custom op; `FlexAddV2` for the TensorFlow op AddV2."""

    @property
    def name(self) -> str:
        """The op as people call it: `CONV_2D`, or the name of a custom op."""
        return self.custom if self.op == CUSTOM else self.op

    @property
    def flex_op(self) -> str:
        """The TensorFlow op that it stands for; empty for any other op."""
        is_flex = self.op == CUSTOM and self.custom.startswith(FLEX)
        return self.custom.removeprefix(FLEX) if is_flex else ""


@dataclass(frozen=True, slots=True)
class TensorQuantization:
    """How integers stand for real numbers: `scale * (q - zero_point)`."""

    scale: tuple[float, ...] = ()
    """One number, or one for each index of `axis`."""
    zero_point: tuple[int, ...] = ()
    axis: int = 0
    minimum: tuple[float, ...] = ()
    maximum: tuple[float, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    details_type: str = ""

    @property
    def is_per_channel(self) -> bool:
        return len(self.scale) > 1


@dataclass(slots=True)
class LiteTensor:
    """A tensor of a subgraph."""

    name: str
    type: str
    """`FLOAT32`, `INT8`, …; `TYPE_99` for a number that the schema does not know."""
    shape: tuple[int, ...]
    buffer: int = 0
    quantization: TensorQuantization | None = None
    """None if it has no scale."""
    is_variable: bool = False
    """Whether it keeps its value from one invocation to the next."""
    shape_signature: tuple[int, ...] = ()
    """The shape with -1 for unknown sizes; empty if all are known."""
    has_rank: bool = False
    sparsity: Mapping[str, Any] | None = None
    variant_tensors: tuple[Mapping[str, Any], ...] = ()
    external_buffer: int = 0

    @property
    def dims(self) -> tuple[int | None, ...]:
        """The shape with None for unknown sizes."""
        sizes = self.shape_signature if len(self.shape_signature) == len(self.shape) else self.shape
        return tuple(None if size < 0 else size for size in sizes)


@dataclass(slots=True)
class LiteOperator:
    """A node of a subgraph."""

    code: OperatorCode
    inputs: tuple[int, ...]
    """Indices of tensors; `NO_TENSOR` for an optional one that is left out."""
    outputs: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)
    """The options that the file states; `options_type` has the others, with their defaults."""
    options_type: str = ""
    """The table of the options, `Conv2DOptions`; empty if there are none."""
    custom_options: bytes | memoryview = b""
    """For a custom op: a flexbuffer; for a Flex op: one with its NodeDef."""
    intermediates: tuple[int, ...] = ()
    mutating_variable_inputs: tuple[bool, ...] = ()
    debug_metadata_index: int = -1


@dataclass(slots=True)
class Subgraph:
    """A function: the main program, a signature, or a branch or body of control flow."""

    name: str
    tensors: list[LiteTensor]
    operators: list[LiteOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    debug_metadata_index: int = -1


@dataclass(slots=True)
class LiteSignature:
    """A named entry point."""

    key: str
    subgraph: int
    inputs: dict[str, int]
    """The tensor of each input."""
    outputs: dict[str, int]


@dataclass(slots=True)
class LiteFile:
    """A TensorFlow Lite file that was read."""

    where: str
    version: int
    """Of the schema: 3 in every file that current interpreters accept."""
    description: str
    operator_codes: list[OperatorCode]
    """All codes of the file, also those that no operator uses: an interpreter resolves them too."""
    subgraphs: list[Subgraph]
    signatures: list[LiteSignature]
    buffers: list[bytes | memoryview]
    """The constant data; buffer 0 is empty."""
    metadata: list[tuple[str, int]]
    """Names and their buffers."""
    size: int = 0
    """The size of the file in bytes."""
    external_buffer_groups: tuple[Mapping[str, Any], ...] = ()
    external_buffers: tuple[Mapping[str, Any], ...] = ()
    external: Callable[[str], memoryview] | None = None
    """Reads a file of external buffers, by the name of its group."""
    outside: frozenset[int] = frozenset()
    """The buffers whose data is behind the flatbuffer, not in it."""
    packed: Callable[[], Mapping[str, bytes]] = dict
    """Reads the files that are packed behind it, such as labels."""
    unknown_fields: tuple[str, ...] = ()
    """Tables with fields that the schema does not have: a newer version of the format wrote them."""

    @property
    def origin(self) -> str:
        """What wrote the file, and the interpreter that it asks for: `TensorFlow Lite, MLIR Converted.`."""
        needs = f", needs runtime {version}" if (version := self._min_runtime_version()) else ""
        written = f", {self.description.rstrip('.')}" if self.description else ""
        return f"TensorFlow Lite{written}{needs}"

    def _min_runtime_version(self) -> str:
        """The runtime that the converter thinks is needed; it names no op."""
        for name, buffer in self.metadata:
            if name == "min_runtime_version" and 0 <= buffer < len(self.buffers):
                return bytes(self.buffers[buffer][:32]).rstrip(b"\0").decode("ascii", "replace")
        return ""
