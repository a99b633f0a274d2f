"""Server reflection, which `grpcurl` and similar tools use.

Few servers are asked for it: what answers is imported and made for the first client that asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

DescribeFile: TypeAlias = "Callable[[], FileDescriptorProto]"
"""Returns the descriptor of a file with messages and services."""
VERSIONS = ("v1", "v1alpha")
"""Versions of the reflection service; their messages are the same."""


def reflection_handlers(services: Iterable[str], more: Iterable[DescribeFile] = ()) -> list[Any]:
    """Return handlers for a server with these services; `more` describes the files of other services."""
    names = [f"grpc.reflection.{version}.ServerReflection" for version in VERSIONS]
    late = _LateReflection([*services, *names[1:]], list(more))
    handler = grpc.stream_stream_rpc_method_handler(
        late.answers, _request, lambda answer: answer.SerializeToString()
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": handler}) for name in names]


class _LateReflection:
    """Answers with a servicer that is made at the first call."""

    def __init__(self, names: Sequence[str], more: Sequence[DescribeFile]) -> None:
        self._names, self._more = names, more

    async def answers(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for answer in self._servicer.ServerReflectionInfo(requests, context):
            yield answer

    @cached_property
    def _servicer(self) -> Any:
        from tfport.serve.grpc.reflection_files import reflection_servicer

        return reflection_servicer(self._names, [describe() for describe in self._more])


def _request(data: bytes) -> Any:
    from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest

    return ServerReflectionRequest.FromString(data)
