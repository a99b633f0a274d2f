"""Canonical GraphDefs: equivalent ones become equal bytes.

`x:0` is `x`; control inputs come last, in any order, and once is enough; maps have no order; a library
without functions is none.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfport.formats.proto import graph_pb2 as pb


def canonical(record: pb.GraphDef) -> bytes:
    """The canonical form of a GraphDef."""
    out = pb.GraphDef()
    out.CopyFrom(record)
    for node in out.node:
        plain_inputs(node, ())
    for function in out.library.function:
        args = {arg.name for arg in function.signature.input_arg if not is_list(arg)}
        for node in function.node_def:
            plain_inputs(node, args)
        for name, value in function.ret.items():
            function.ret[name] = plain(value, args)
    if not out.library.ListFields():
        out.ClearField("library")
    return out.SerializeToString(deterministic=True)


def is_list(arg: pb.OpDef.ArgDef) -> bool:
    return bool(arg.number_attr or arg.type_list_attr)


def plain_inputs(node: pb.NodeDef, args: Iterable[str]) -> None:
    data = [plain(name, args) for name in node.input if not name.startswith("^")]
    controls = sorted({name for name in node.input if name.startswith("^")})
    node.ClearField("input")
    node.input.extend(data + controls)


def plain(name: str, args: Iterable[str]) -> str:
    """In a graph any `x:0` is `x`, in a function only that of an argument."""
    base, _, rest = name.partition(":")
    return base if rest == "0" and (not args or base in args) else name
