"""Messages described by a few lines, for protobufs that nothing else here needs a .proto for.

    TREES = messages("tfport.trees", '''
        Tree: nodes=1 *Node
        Node: leaf=1 float, split=2 Split
    ''')
    TREES["Tree"].FromString(data)

Each field is `name=number type`; `*` repeats it. A type is a scalar of protobuf or another message.
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
    """The classes of the messages that lines describe."""
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(described(package, text))
    names = [line.partition(":")[0].strip() for line in text.splitlines() if ":" in line]
    found = (pool.FindMessageTypeByName(f"{package}.{name}") for name in names)
    return dict(zip(names, map(message_factory.GetMessageClass, found), strict=True))


def described(package: str, text: str) -> Any:
    """The FileDescriptorProto of lines."""
    from google.protobuf import descriptor_pb2

    enumerated: Any = int  # the stubs want an enumeration that is not there at run time
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for line in text.splitlines():
        name, colon, fields = line.partition(":")
        if not colon:
            continue
        message = file.message_type.add(name=name.strip())
        for said in fields.split(","):
            label, kind = said.split()
            field = message.field.add(name=label.split("=")[0], number=int(label.split("=")[1]))
            field.label = enumerated(3 if kind[0] == "*" else 1)
            kind = kind.lstrip("*")
            if kind in _SCALARS:
                field.type = enumerated(_SCALARS.index(kind) + 1)
            else:
                field.type, field.type_name = enumerated(11), f".{package}.{kind}"
    return file
