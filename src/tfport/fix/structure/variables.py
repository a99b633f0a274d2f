"""Convert variables between resources and references, with all nodes that use them.

Both kinds are equivalent if only reads, assignments and gathers of the main graph use a
variable; a variable with any other use is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node

Attrs = Mapping[str, Attr]
New = tuple[str, Callable[[Attrs, DType], dict[str, Attr]]]
Changed = list[tuple[str, str]]
RESOURCE, REFERENCES = "VarHandleOp", ("VariableV2", "Variable")
NAMES = ("container", "shared_name")


def _variable_attrs(attrs: Attrs, dtype: DType) -> dict[str, Attr]:
    names = {name: attrs[name] for name in NAMES if name in attrs}
    return {"dtype": dtype, "shape": attrs["shape"], **names}


def _typed(name: str, **more: Attr) -> Callable[[Attrs, DType], dict[str, Attr]]:
    return lambda attrs, dtype: {name: dtype, **more}


def _indices(attrs: Attrs, dtype: DType) -> dict[str, Attr]:
    if attrs.get("batch_dims"):
        raise StructureRefusal("a gather with batch_dims needs a resource variable")
    return {"Tparams": dtype, "Tindices": attrs["Tindices"]}


def _sized(attrs: Attrs, dtype: DType) -> dict[str, Attr]:
    return {"T": dtype, **({"out_type": attrs["out_type"]} if "out_type" in attrs else {})}


TO_REFERENCES: dict[str, New] = {
    "ReadVariableOp": ("Identity", _typed("T")),
    "AssignVariableOp": ("Assign", _typed("T", use_locking=True, validate_shape=True)),
    "AssignAddVariableOp": ("AssignAdd", _typed("T", use_locking=True)),
    "AssignSubVariableOp": ("AssignSub", _typed("T", use_locking=True)),
    "ResourceGather": ("Gather", _indices),
    "VariableShape": ("Shape", _sized),
    "VarIsInitializedOp": ("IsVariableInitialized", _typed("dtype")),
    "DisableCopyOnRead": ("NoOp", lambda attrs, dtype: {}),
}
TO_RESOURCES: dict[str, New] = {
    "Identity": ("ReadVariableOp", _typed("dtype")),
    "Assign": ("AssignVariableOp", _typed("dtype")),
    "AssignAdd": ("AssignAddVariableOp", _typed("dtype")),
    "AssignSub": ("AssignSubVariableOp", _typed("dtype")),
    "Gather": ("ResourceGather", lambda attrs, dtype: {"dtype": dtype, "Tindices": attrs["Tindices"]}),
    "IsVariableInitialized": ("VarIsInitializedOp", lambda attrs, dtype: {}),
}


def to_references(graph: Graph) -> Changed:
    """Convert every resource variable of a main graph to a reference."""
    return _convert(graph, (RESOURCE,), REFERENCES[0], TO_REFERENCES)


def to_resources(graph: Graph) -> Changed:
    """Convert every reference variable to a resource; direct readers get a read node."""
    variables = [node for node in graph if node.op in REFERENCES]
    for node in variables:
        _read_through(graph, node)
    return _convert(graph, REFERENCES, RESOURCE, TO_RESOURCES)


def _convert(graph: Graph, ops: tuple[str, ...], new: str, table: Mapping[str, New]) -> Changed:
    variables = [node for node in graph if node.op in ops]
    for node in variables:
        for user in node.output(0).uses:
            if user.op not in table or user.inputs[0] is not node.output(0):
                raise StructureRefusal(f"`{user.name}` ({user.op}) needs `{node.name}` to be a {node.op}")
            if user.op in ("Assign", "AssignAdd", "AssignSub") and user.read_outputs:
                raise StructureRefusal(f"`{user.name}` passes on the reference to `{node.name}`")
    changed = [(node.name, node.op) for node in variables]
    for node in variables:
        dtype = node.attrs["dtype"]
        assert isinstance(dtype, DType)
        for user in node.output(0).uses:
            op, attrs = table[user.op]
            new_attrs = attrs(user.attrs, dtype)
            user.become(op, new_attrs)
            if op == "NoOp":
                user.set_inputs(())
        node.become(new, _variable_attrs(node.attrs, dtype))
    return changed


def _read_through(graph: Graph, variable: Node) -> None:
    """Add a read node between a variable and nodes that read its value directly."""
    value = variable.output(0)
    direct = [user for user in value.uses if user.op not in TO_RESOURCES]
    if any(_takes_reference(user, i) for user in direct for i, v in enumerate(user.inputs) if v is value):
        return  # `_convert` refuses this node
    for user in direct:
        attrs: dict[str, Attr] = {"T": value.dtype.base}
        read = graph.add(
            "Identity", [value], attrs,
            name=f"{variable.name}/read", controls=user.controls, device=variable.device,
        )  # fmt: skip
        user.set_inputs([read.output(0) if v is value else v for v in user.inputs])


def _takes_reference(user: Node, index: int) -> bool:
    signature = user.signature
    return signature is None or (index < len(signature.inputs) and signature.inputs[index].is_ref)
