"""A name for what the fastest engine of an island depends on: the island, the machine and the versions.

Names of tensors do not count, as they differ between processes. Of large weights the beginning counts:
whether two engines agree may depend on them, but a model that was trained again differs everywhere.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.formats.proto import onnx_pb2 as pb

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SAMPLE = 256
_PACKAGES = ("tfport", "onnxruntime", "onnxruntime-gpu", "openvino", "ai-edge-litert")


def island_key(graph: pb.GraphProto, weights: Mapping[str, NDArray[Any]], *settings: Any) -> str:
    """A hash of an island with its settings on this machine."""
    import hashlib  # imported here, as few sessions have islands that race

    digest = hashlib.blake2b(repr((machine(), settings)).encode(), digest_size=20)
    for part in _parts(graph, _Numbers()):
        digest.update(part)
    for tensor in graph.initializer:
        if tensor.name in weights:
            digest.update(weights[tensor.name].reshape(-1)[:_SAMPLE].tobytes())
    return digest.hexdigest()


class _Numbers(dict[str, int]):
    """Numbers in place of names, in the order in which they appear."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number

    def of(self, names: Iterable[str]) -> list[int]:
        return [self[name] for name in names]


def _parts(graph: pb.GraphProto, numbers: _Numbers) -> Iterator[bytes]:
    yield repr(numbers.of(value.name for value in (*graph.input, *graph.output))).encode()
    for value in graph.input:
        yield value.type.SerializeToString(deterministic=True)
    for tensor in graph.initializer:
        yield repr((numbers[tensor.name], list(tensor.dims), tensor.data_type)).encode() + tensor.raw_data
    for node in graph.node:
        reads, writes = numbers.of(node.input), numbers.of(node.output)
        yield repr((node.domain, node.op_type, reads, writes)).encode()
        for attribute in node.attribute:
            if attribute.type == pb.AttributeProto.GRAPH:
                yield attribute.name.encode()
                yield from _parts(attribute.g, numbers)
            else:
                yield attribute.SerializeToString(deterministic=True)


@functools.cache
def machine() -> tuple[str, ...]:
    """The processor, and the versions of what runs islands."""
    return (_processor(), *map(_version_of, _PACKAGES))


def _processor() -> str:
    return _cpu_info("model name", "CPU part") or platform.machine()


def processor_features() -> str:
    """The instructions that the processor has; a virtual machine may hide some."""
    return _cpu_info("flags", "Features")


def _cpu_info(*fields: str) -> str:
    """The first of these fields that the system has about its processors; empty if it has none."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(fields)), "")


def _version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # here: most runs ask for no key

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
