"""What is in a TensorFlow Lite file: its operators with their versions, how it is quantized, its memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod

from tfport.formats.lite.metadata import LiteMetadata, lite_metadata
from tfport.formats.lite.records import LiteFile, LiteTensor, OperatorCode, Subgraph
from tfport.frontends.lite.constants import BITS, has_data, lite_dtype
from tfport.frontends.lite.tensor import is_quantized
from tfport.graph.model import Model
from tfport.startup.dataclass import dataclass

MAIN = "serving_default"


@dataclass(frozen=True)
class LiteInspection:
    """The TensorFlow Lite part of an inspection."""

    file: LiteFile
    no_graph: str
    """Why tfport cannot run the model; empty if it can."""

    @cached_property
    def metadata(self) -> LiteMetadata:
        return lite_metadata(self.file)

    @cached_property
    def operators(self) -> Counter[OperatorCode]:
        """How many operators have each code; zero for a code that none has."""
        counts = Counter(dict.fromkeys(self.file.operator_codes, 0))
        counts.update(operator.code for graph in self.file.subgraphs for operator in graph.operators)
        return counts

    @property
    def signatures(self) -> dict[str, tuple[Mapping[str, LiteTensor], Mapping[str, LiteTensor]]]:
        """The inputs and outputs of each signature; the first subgraph's if there are no signatures."""
        graphs = self.file.subgraphs
        signatures: dict[str, tuple[Mapping[str, LiteTensor], Mapping[str, LiteTensor]]] = {
            signature.key or MAIN: (
                {name: graphs[signature.subgraph].tensors[i] for name, i in signature.inputs.items()},
                {name: graphs[signature.subgraph].tensors[i] for name, i in signature.outputs.items()},
            )
            for signature in self.file.signatures
        }
        if signatures or not graphs:
            return signatures
        return {"": (_tensors(graphs[0], graphs[0].inputs), _tensors(graphs[0], graphs[0].outputs))}

    @cached_property
    def weights(self) -> Counter[str]:
        """The bytes of the constants by type."""
        sizes: Counter[str] = Counter()
        for graph in self.file.subgraphs:
            for tensor in graph.tensors:
                if has_data(self.file, tensor):
                    sizes[tensor.type.lower()] += len(self.file.buffers[tensor.buffer])
        return sizes

    @cached_property
    def quantization(self) -> str:
        """How the model is quantized, in the words of the converter."""
        constants = {t.type for g in self.file.subgraphs for t in g.tensors if has_data(self.file, t)}
        quantized = [t for g in self.file.subgraphs for t in g.tensors if is_quantized(t)]
        computed = {t.type for t in quantized if not has_data(self.file, t)}
        stored = {t.type for t in quantized if has_data(self.file, t)}
        if "INT16" in computed:
            return "integers: 16-bit activations, 8-bit weights"
        if computed:
            return f"integers: {', '.join(sorted(t.lower() for t in computed))}"
        if stored:
            return f"dynamic range: {', '.join(sorted(t.lower() for t in stored))} weights"
        return "float16 weights" if "FLOAT16" in constants else ""

    @cached_property
    def per_channel(self) -> int:
        """The number of weights with a scale for each channel."""
        tensors = (tensor for graph in self.file.subgraphs for tensor in graph.tensors)
        return sum(
            tensor.quantization is not None and tensor.quantization.is_per_channel for tensor in tensors
        )

    @cached_property
    def arena(self) -> int | None:
        """The bytes of activations that must be in memory at once; None if sizes are unknown.

        A runtime needs at least this much; how well it packs is its own matter.
        """
        if not self.file.subgraphs:
            return None
        graph = self.file.subgraphs[0]
        sizes = [_nbytes(tensor) for tensor in graph.tensors]
        changes: Counter[int] = Counter()
        for index, (first, last) in _lifetimes(graph).items():
            if has_data(self.file, graph.tensors[index]):
                continue
            size = sizes[index]
            if size is None:
                return None
            changes[first] += size
            changes[last + 1] -= size
        live = most = 0
        for at in sorted(changes):
            live += changes[at]
            most = max(most, live)
        return most


def inspect_lite(model: Model) -> LiteInspection | None:
    """Describe the TensorFlow Lite file of a model; None if it is of another format."""
    return None if model.lite is None else LiteInspection(model.lite, model.no_graph)


def _tensors(graph: Subgraph, indices: tuple[int, ...]) -> dict[str, LiteTensor]:
    return {graph.tensors[i].name or f"tensor {i}": graph.tensors[i] for i in indices}


def _lifetimes(graph: Subgraph) -> dict[int, tuple[int, int]]:
    """The first and the last operator that uses each tensor."""
    lives: dict[int, tuple[int, int]] = {}
    for index, at in _uses(graph):
        first, last = lives.get(index, (at, at))
        lives[index] = min(first, at), max(last, at)
    return lives


def _uses(graph: Subgraph) -> Iterator[tuple[int, int]]:
    yield from ((index, 0) for index in graph.inputs)
    for at, operator in enumerate(graph.operators):
        yield from ((index, at) for index in (*operator.inputs, *operator.outputs) if index >= 0)
    yield from ((index, len(graph.operators)) for index in graph.outputs)


def _nbytes(tensor: LiteTensor) -> int | None:
    dtype = lite_dtype(tensor.type)
    if dtype is None or dtype.name in ("string", "resource", "variant") or None in tensor.dims:
        return None
    bits = BITS.get(tensor.type, 8 * dtype.numpy.itemsize)
    return prod(tensor.shape) * bits // 8
