"""What server reflection answers: files with TensorFlow's names.

tfport's messages have their own protobuf package, so that TensorFlow can be imported in the same process.
Their descriptors are copied under TensorFlow's names into a separate pool; Python's default pool is not
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf import any_pb2, descriptor_pool, wrappers_pb2
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as FileProto
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from tfport.formats.proto import (
    graph_pb2,
    model_server_config_pb2,
    saved_model_pb2,
    serving_api_pb2,
    serving_pb2,
)

OURS, CORE, SERVING = "tfport.formats.proto", "tensorflow", "tensorflow.serving"
# messages of TensorFlow itself in files that otherwise belong to TensorFlow Serving
_CORE_MESSAGES = {"BytesList", "FloatList", "Int64List", "Feature", "Features", "Example", "error"}
_CORE_FILES = (graph_pb2.DESCRIPTOR, saved_model_pb2.DESCRIPTOR)
_FILES = (
    *_CORE_FILES,
    serving_pb2.DESCRIPTOR,
    model_server_config_pb2.DESCRIPTOR,
    serving_api_pb2.DESCRIPTOR,
)
_OTHERS = (any_pb2, wrappers_pb2, health_pb2, reflection_pb2)

SERVICES = {
    "PredictionService": {
        "Classify": ("ClassificationRequest", "ClassificationResponse"),
        "Regress": ("RegressionRequest", "RegressionResponse"),
        "Predict": ("PredictRequest", "PredictResponse"),
        "MultiInference": ("MultiInferenceRequest", "MultiInferenceResponse"),
        "GetModelMetadata": ("GetModelMetadataRequest", "GetModelMetadataResponse"),
    },
    "ModelService": {
        "GetModelStatus": ("GetModelStatusRequest", "GetModelStatusResponse"),
        "HandleReloadConfigRequest": ("ReloadConfigRequest", "ReloadConfigResponse"),
    },
}


def reflection_servicer(services: Iterable[str], more: Iterable[FileProto]) -> Any:
    """Return what answers for these services; `more` are descriptors of other services."""
    return reflection.aio.ReflectionServicer(list(services), _WithMethods(real_names(more)))


class _WithMethods:
    """A pool that also finds the file of a method, which `grpcurl describe SERVICE.METHOD` needs."""

    def __init__(self, pool: descriptor_pool.DescriptorPool) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def FindFileContainingSymbol(self, name: str) -> FileDescriptor:
        """Return the file, or raise KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(name)
        except KeyError:
            method: Any = self._pool.FindMethodByName(name)
            file: FileDescriptor = method.containing_service.file
            return file


def real_names(more: Iterable[FileProto] = ()) -> descriptor_pool.DescriptorPool:
    """Return a pool with TensorFlow Serving's services and messages under their real names."""
    pool = descriptor_pool.DescriptorPool()
    for module in _OTHERS:
        pool.Add(_copied(module.DESCRIPTOR))
    for file in (*_renamed(), *more):
        pool.Add(file)
    return pool


def _copied(file: FileDescriptor) -> FileProto:
    copy = FileProto()
    file.CopyToProto(copy)
    return copy


def _renamed() -> Iterator[FileProto]:
    """Yield the files in order of their dependencies."""
    originals = []
    packages: dict[str, str] = {}
    for file in _FILES:
        originals.append(proto := _copied(file))
        for name in [m.name for m in proto.message_type] + [e.name for e in proto.enum_type]:
            packages[name] = CORE if file in _CORE_FILES or name in _CORE_MESSAGES else SERVING
    needed = [module.DESCRIPTOR.name for module in (any_pb2, wrappers_pb2)]
    for proto in originals:
        for package in (CORE, SERVING):
            part = _of_package(proto, package, packages)
            if part.message_type or part.enum_type:
                part.dependency.extend(needed)
                needed.append(part.name)
                yield part
    yield _services(needed)


def _of_package(original: FileProto, package: str, packages: dict[str, str]) -> FileProto:
    """Return the part of a file that belongs to one of TensorFlow's packages."""
    stem = original.name.rpartition("/")[2]
    out = FileProto(name=f"{package.replace('.', '_')}/{stem}", package=package, syntax=original.syntax)
    out.message_type.extend(m for m in original.message_type if packages[m.name] == package)
    out.enum_type.extend(e for e in original.enum_type if packages[e.name] == package)
    for message in out.message_type:
        _rename(message, packages)
    return out


def _rename(message: DescriptorProto, packages: dict[str, str]) -> None:
    for field in message.field:
        inside = field.type_name.removeprefix(f".{OURS}.")
        if inside != field.type_name:
            field.type_name = f".{packages[inside.partition('.')[0]]}.{inside}"
    for nested in message.nested_type:
        _rename(nested, packages)


def _services(needed: list[str]) -> FileProto:
    out = FileProto(
        name="tensorflow_serving/services.proto", package=SERVING, syntax="proto3", dependency=needed
    )
    for name, methods in SERVICES.items():
        service = out.service.add(name=name)
        for method, (takes, gives) in methods.items():
            service.method.add(
                name=method, input_type=f".{SERVING}.{takes}", output_type=f".{SERVING}.{gives}"
            )
    return out
