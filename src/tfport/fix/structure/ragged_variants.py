"""Ragged tensors that are packed into a variant and unpacked again are passed on as their parts.

A ragged variant only wraps row splits and values, and releases before 1.14 do not have it. If
every reader of a variant unpacks it, the variant is removed. Any other use stays, and the check
reports it.
"""

from __future__ import annotations

from tfport.graph.graph import Graph, Node, Value

PACK, UNPACK = "RaggedTensorToVariant", "RaggedTensorFromVariant"
CARRY = ("Identity", "StopGradient", "PreventGradient")


def drop_ragged_variants(graph: Graph) -> list[tuple[str, str]]:
    """Remove every variant that is only unpacked; returns the names and ops of the removed nodes."""
    removed: list[tuple[str, str]] = []
    for node in [node for node in graph if node.op == PACK]:
        readers = _readers(node)
        if readers is None:
            continue
        for reader in readers:
            removed.append((reader.name, reader.op))
            if reader.op == UNPACK:
                _to_identity(reader, node)
            elif not reader.users:
                graph.remove(reader)
        removed.append((node.name, PACK))
        graph.remove(node)
    return removed


def _readers(pack: Node) -> list[Node] | None:
    """The nodes that pass a variant on or unpack it, the last first; None if it has other readers."""
    nodes: list[Node] = []
    waiting = [pack]
    while waiting:
        node = waiting.pop()
        if node.control_users:
            return None
        for reader in node.output(0).uses:
            if reader.op == UNPACK and _undoes(reader, pack):
                nodes.append(reader)
            elif reader.op in CARRY:
                nodes.append(reader)
                waiting.append(reader)
            else:
                return None
    return nodes[::-1] if any(node.op == UNPACK for node in nodes) else None


def _undoes(unpack: Node, pack: Node) -> bool:
    """Whether unpacking returns exactly what was packed."""
    rank, batched = pack.attrs.get("RAGGED_RANK"), bool(pack.attrs.get("batched_input"))
    if not isinstance(rank, int) or unpack.attrs.get("output_ragged_rank") != rank or (batched and not rank):
        return False
    same = all(
        attr_or_default(pack, name) == attr_or_default(unpack, name) for name in ("Tvalues", "Tsplits")
    )
    return same and unpack.attrs.get("input_ragged_rank") in (-1, rank - batched)


def attr_or_default(node: Node, name: str) -> object:
    """An attribute of a node, or its default."""
    signature = node.signature
    return node.attrs.get(name) or (signature.defaults.get(name) if signature else None)


def _to_identity(unpack: Node, pack: Node) -> None:
    """Turn the unpacking node into an IdentityN of the packed parts; it keeps its name."""
    values: list[Value] = list(pack.inputs)
    unpack.set_inputs(values)
    unpack.become("IdentityN", {"T": [value.dtype.base for value in values]})
