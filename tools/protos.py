"""Write our .proto files from the message descriptors of an installed TensorFlow.

    python tools/protos.py            run by the Python of an environment with TensorFlow
    make protos                       the same, then protoc

Field names and numbers are those of TensorFlow, so the bytes are compatible; the
package is ours, so both can be imported in one process. Comments are not copied.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

from google.protobuf import descriptor_pb2

OUT = Path(__file__).parent.parent / "src/tfport/formats/proto"
PACKAGE = "tfport.formats.proto"

FILES = {
    "graph": """types resource_handle tensor_shape tensor full_type attr_value op_def
                node_def versions function graph_debug_info graph""",
    "saved_model": """saver variable struct trackable_object_graph saved_object_graph meta_graph
                      saved_model fingerprint""",
    "kernel": "kernel_def",
    "checkpoint": "tensor_slice saved_tensor_slice tensor_bundle checkpoint_state",
}
MODULES = {
    "saver": "protobuf",
    "struct": "protobuf",
    "trackable_object_graph": "protobuf",
    "saved_object_graph": "protobuf",
    "meta_graph": "protobuf",
    "saved_model": "protobuf",
    "fingerprint": "protobuf",
    "tensor_bundle": "protobuf",
    "checkpoint_state": "python.training",
    "saved_tensor_slice": "util",
}
SCALARS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}
LABEL_REPEATED = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED


def descriptor(source: str) -> descriptor_pb2.FileDescriptorProto:
    where = MODULES.get(source, "framework")
    root = "tensorflow" if where.startswith("python") else "tensorflow.core"
    module = importlib.import_module(f"{root}.{where}.{source}_pb2")
    out = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(out)
    return out


def type_name(field: descriptor_pb2.FieldDescriptorProto) -> str:
    return field.type_name.removeprefix(".tensorflow.").removeprefix(".") or SCALARS[field.type]


def field_line(field, message, indent: str) -> str:
    nested = {n.name: n for n in message.nested_type if n.options.map_entry}
    entry = nested.get(field.type_name.rpartition(".")[2]) if field.type_name else None
    if entry is not None:
        key, value = entry.field
        kind = f"map<{type_name(key)}, {type_name(value)}>"
    else:
        kind = ("repeated " if field.label == LABEL_REPEATED else "") + type_name(field)
        if field.proto3_optional:
            kind = f"optional {kind}"
    packed = " [packed = true]" if field.options.packed else ""
    return f"{indent}{kind} {field.name} = {field.number}{packed};"


def message_lines(message, indent: str = ""):
    yield f"{indent}message {message.name} {{"
    inner = indent + "  "
    for enum in message.enum_type:
        yield from enum_lines(enum, inner)
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from message_lines(nested, inner)
    for gap in message.reserved_range:
        last = gap.end - 1
        yield f"{inner}reserved {gap.start}{f' to {last}' if last > gap.start else ''};"
    open_oneof = None
    for field in message.field:
        oneof = field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None
        if oneof != open_oneof:
            if open_oneof is not None:
                yield f"{inner}}}"
            if oneof is not None:
                yield f"{inner}oneof {message.oneof_decl[oneof].name} {{"
            open_oneof = oneof
        yield field_line(field, message, inner + ("  " if oneof is not None else ""))
    if open_oneof is not None:
        yield f"{inner}}}"
    yield f"{indent}}}"


def enum_lines(enum, indent: str = ""):
    yield f"{indent}enum {enum.name} {{"
    if enum.options.allow_alias:
        yield f"{indent}  option allow_alias = true;"
    for value in enum.value:
        yield f"{indent}  {value.name} = {value.number};"
    yield f"{indent}}}"


def file_text(name: str, sources: str) -> str:
    import tensorflow as tf

    descriptors = [descriptor(source) for source in sources.split()]
    body = [line for d in descriptors for e in d.enum_type for line in (*enum_lines(e), "")]
    body += [line for d in descriptors for m in d.message_type for line in (*message_lines(m), "")]
    head = [
        f"// Made by tools/protos.py from TensorFlow {tf.__version__}.",
        'syntax = "proto3";',
        "",
        f"package {PACKAGE};",
        "",
    ]
    imports = list(imported(name, body))
    return "\n".join(head + imports + [""] * bool(imports) + body).rstrip() + "\n"


def imported(name: str, body: list[str]) -> Iterator[str]:
    if name != "graph":
        yield f'import "{PACKAGE.replace(".", "/")}/graph.proto";'
    for known, word in (("any", "protobuf.Any "), ("wrappers", "protobuf.BoolValue ")):
        if any(word in line for line in body):
            yield f'import "google/protobuf/{known}.proto";'


if __name__ == "__main__":
    for name, sources in FILES.items():
        (OUT / f"{name}.proto").write_text(file_text(name, sources))
