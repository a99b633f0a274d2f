"""What interpreters check of a file besides its ops: subgraphs, scales, tensors, and where constants are."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.lite.releases import LITERT, TENSORFLOW, TFLITE_RUNTIME, LiteRegistry
from tfport.atlas.versions import version_key
from tfport.check.findings.finding import RUN
from tfport.check.findings.lite_files import LiteFileFinding, LiteInconsistentFile, LiteOutsideConstants
from tfport.check.lite.places import tensor_place
from tfport.check.lite.reach import MAIN, entry_points, reached
from tfport.formats.lite.records import LiteFile, LiteTensor

READS_OUTSIDE = "2.14"
"""The first tflite-runtime and TensorFlow whose interpreter reads constants behind the flatbuffer."""
ALIKE = "tfport fix --for TARGET"


def inconsistencies(file: LiteFile) -> Iterator[LiteFileFinding]:
    """What every interpreter refuses when it loads a file."""
    if not file.subgraphs:
        yield LiteInconsistentFile(what="it has no subgraph", says_text="No subgraph in the model.\n")
    for graph in file.subgraphs:
        wrong = [(number, t, text) for number, t in enumerate(graph.tensors) if (text := wrong_scales(t))]
        says = "".join(
            f"{text}Tensor {number} has invalid quantization parameters." for number, _, text in wrong
        )
        if wrong:
            _, tensor, text = wrong[0]
            yield LiteInconsistentFile(
                what="the scales of a tensor do not fit its shape",
                where=tensor_place(tensor, graph),
                why=text,
                says_text=says,
                ways=(ALIKE,) if has_wrong_axis(tensor) else ("convert the model again",),
            )


def shared_tensors(file: LiteFile) -> Iterator[LiteFileFinding]:
    """Operators with options whose output is one of their inputs: interpreters allocate no tensors then."""
    for number in sorted(reached(file, MAIN)):
        graph = file.subgraphs[number]
        for node in graph.operators:
            both = [(i, at) for at, i in enumerate(node.inputs) if i >= 0 and i in node.outputs]
            if both and node.options_type:
                index, at = both[0]
                yield LiteInconsistentFile(
                    what=f"{node.code.name} has an output that is its input",
                    where=tensor_place(graph.tensors[index], graph),
                    says_text=f"Tensor {index} is both input {at} and output {node.outputs.index(index)}\n",
                    ways=("convert the model again",),
                    stage=RUN,
                    signatures=_signatures(file, number),
                )
                return


def outside_constants(file: LiteFile, registry: LiteRegistry) -> Iterator[LiteFileFinding]:
    """Constants behind the flatbuffer or in other files, for an interpreter that does not look there."""
    if registry.package not in (TFLITE_RUNTIME, TENSORFLOW, LITERT):
        return
    is_newer = registry.package == LITERT or version_key(registry.version) >= version_key(READS_OUTSIDE)
    unread = frozenset[int]() if is_newer else file.outside
    for number, graph in enumerate(file.subgraphs):
        indices = (index for node in graph.operators for index in node.inputs if index >= 0)
        for index in indices:
            tensor = graph.tensors[index]
            if tensor.buffer not in unread and not tensor.external_buffer:
                continue
            first = f"first read by {TFLITE_RUNTIME} {READS_OUTSIDE}.0 and {LITERT} 1.0.0"
            yield LiteOutsideConstants(
                place="in other files" if tensor.external_buffer else "behind its flatbuffer",
                where=tensor_place(tensor, graph),
                why="no recorded interpreter reads them" if tensor.external_buffer else first,
                says_text=f"Input tensor {index} lacks data",
                ways=(ALIKE,),
                signatures=_signatures(file, number),
            )
            return


def _signatures(file: LiteFile, number: int) -> tuple[str, ...]:
    """The signatures that run a subgraph."""
    return tuple(key for key, numbers in entry_points(file).items() if number in numbers)


def wrong_scales(tensor: LiteTensor) -> str:
    """What an interpreter says of the scales of a tensor; empty if it accepts them."""
    stored = tensor.quantization
    if stored is None or not stored.scale or stored.details_type:
        return ""
    points, scales, rank = len(stored.zero_point), len(stored.scale), len(tensor.shape)
    if not points:
        return "Quantization parameters has non-null scale but null zero_point."
    if points != scales:
        return (
            f"QuantizationParam has {points} zero_point values and {scales} scale values. "
            "Must have same number."
        )
    if stored.axis < 0 or (rank and stored.axis >= rank):
        return f"quantized_dimension must be in range [0, {rank}). Was {stored.axis}."
    if scales != 1 and rank and scales != tensor.shape[stored.axis]:
        return (
            f"num_scales must be 1 for per-layer quantization, or {tensor.shape[stored.axis]} for per-axis "
            f"quantization, but got {scales}."
        )
    return ""


def has_wrong_axis(tensor: LiteTensor) -> bool:
    """Whether only the axis of the scales of a vector is wrong."""
    stored = tensor.quantization
    return (
        wrong_scales(tensor).startswith("quantized_dimension")
        and len(tensor.shape) == 1
        and stored is not None
        and len(stored.scale) in (1, tensor.shape[0])
    )
