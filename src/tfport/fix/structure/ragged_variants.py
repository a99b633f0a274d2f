"""Ragged tensors that are packed into one variant and unpacked again, handed on as they are.

A variant of a ragged tensor is only a box for its splits and values, and releases before 1.14 have
none. Where all that reads a box unpacks what was packed, the box is left out; any other use of it
is left as it is, for the check to tell.
"""

from __future__ import annotations

from tfport.graph.graph import Graph, Node, Value

PACK, UNPACK = "RaggedTensorToVariant", "RaggedTensorFromVariant"
CARRY = ("Identity", "StopGradient", "PreventGradient")


def without_boxes(graph: Graph) -> list[tuple[str, str]]:
    """Leave out every box that is only unpacked; the names and ops of the nodes that went."""
    gone: list[tuple[str, str]] = []
    for node in [node for node in graph if node.op == PACK]:
        inside = _box(node)
        if inside is None:
            continue
        for reader in inside:
            gone.append((reader.name, reader.op))
            if reader.op == UNPACK:
                _hand_on(reader, node)
            elif not reader.users:
                graph.remove(reader)
        gone.append((node.name, PACK))
        graph.remove(node)
    return gone


def _box(pack: Node) -> list[Node] | None:
    """The nodes that hand a box on or unpack it, the last first; None where it is read otherwise."""
    found: list[Node] = []
    waiting = [pack]
    while waiting:
        node = waiting.pop()
        if node.control_users:
            return None
        for reader in node.output(0).uses:
            if reader.op == UNPACK and _undoes(reader, pack):
                found.append(reader)
            elif reader.op in CARRY:
                found.append(reader)
                waiting.append(reader)
            else:
                return None
    return found[::-1] if any(node.op == UNPACK for node in found) else None


def _undoes(unpack: Node, pack: Node) -> bool:
    """Whether what comes out is what went in."""
    rank, batched = pack.attrs.get("RAGGED_RANK"), bool(pack.attrs.get("batched_input"))
    if not isinstance(rank, int) or unpack.attrs.get("output_ragged_rank") != rank or (batched and not rank):
        return False
    same = all(_typed(pack, name) == _typed(unpack, name) for name in ("Tvalues", "Tsplits"))
    return same and unpack.attrs.get("input_ragged_rank") in (-1, rank - batched)


def _typed(node: Node, name: str) -> object:
    signature = node.signature
    return node.attrs.get(name) or (signature.defaults.get(name) if signature else None)


def _hand_on(unpack: Node, pack: Node) -> None:
    """Keep the name, which may be known: its outputs are the splits and values that were packed."""
    values: list[Value] = list(pack.inputs)
    unpack.set_inputs(values)
    unpack.become("IdentityN", {"T": [value.dtype.base for value in values]})
