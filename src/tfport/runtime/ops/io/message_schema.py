"""Protobuf messages defined by a few lines of text, for messages without a .proto file.

    TREES = messages("tfport.trees", '''
        Tree: nodes=1 *Node
        Node: leaf=1 float, split=2 Split
    ''')
    TREES["Tree"].FromString(data)

Each field is `name=number type`; `*` means repeated. A type is a protobuf scalar or another message.
"""

from __future__ import annotations

import functools
from typing import Any

_SCALARS = [
    "double",
    "float",
    "int64",
    "uint64",
    "int32",
    "fixed64",
    "fixed32",
    "bool",
    "string",
    "group",
    "message",
    "bytes",
    "uint32",
]


@functools.cache
def messages(package: str, text: str) -> dict[str, Any]:
    """The message classes of a text, by name."""
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor(package, text))
    names = [line.partition(":")[0].strip() for line in text.splitlines() if ":" in line]
    descriptors = (pool.FindMessageTypeByName(f"{package}.{name}") for name in names)
    return dict(zip(names, map(message_factory.GetMessageClass, descriptors), strict=True))


def file_descriptor(package: str, text: str) -> Any:
    """The FileDescriptorProto of a text."""
    from google.protobuf import descriptor_pb2

    enumerated: Any = int  # the stubs expect an enumeration that does not exist at run time
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for line in text.splitlines():
        name, colon, fields = line.partition(":")
        if not colon:
            continue
        message = file.message_type.add(name=name.strip())
        for definition in fields.split(","):
            label, kind = definition.split()
            field = message.field.add(name=label.split("=")[0], number=int(label.split("=")[1]))
            field.label = enumerated(3 if kind[0] == "*" else 1)
            kind = kind.lstrip("*")
            if kind in _SCALARS:
                field.type = enumerated(_SCALARS.index(kind) + 1)
            else:
                field.type, field.type_name = enumerated(11), f".{package}.{kind}"
    return file
