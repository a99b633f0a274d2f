"""Is there a device for all nodes that must run together? Finding 315.

Only on a machine with a GPU are there two kinds of devices. Recorded from 2.21 on an H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.devices import GPU, is_local, is_valid_name, kinds_of_devices, requested_kind
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import DEVICES
from tfport.check.loaders import Loader
from tfport.graph.graph import Function, Graph, Node

CLASS, LOCATION = "_class", "loc:@"
HANDLE = "VarHandleOp"
OF_VARIABLES = ("ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")


@finding("TFP315", "colocated-without-common-device", noticed=DEVICES)
class NoCommonDevice(Finding):
    """node `{node}` must run on the same device as `{other}`, but no device of {target} suits both

    ## Cause
    The graph asks for two nodes to run on one device (`_class`), or both use one variable, but
    they ask for different devices, or no device has kernels for both ops. The loader
    has no soft placement: TensorFlow Serving and the C API do what the graph asks for.
    ## Fix
    Export with `clear_devices=True` (TF1), outside of `tf.device` and `colocate_with`; or set
    `allow_soft_placement` where the loader has it.
    ## Example
        tfport check tests/truth/models/colocated_on_gpu --on tensorflow==2.21.0 --device gpu
    """

    other: str
    reason: str

    def cause(self) -> str:
        return self.reason

    def says(self) -> str:
        names = " and ".join(f"{{{{colocation_node {name}}}}}" for name in (self.node, self.other))
        return f"Cannot colocate nodes {names}"

    def fixes(self) -> list[str]:
        return ["export again with clear_devices=True", "--soft-placement, if the loader enables it"]


class ColocatedNodes(NamedTuple):
    """Nodes that must run on one device."""

    head: Node
    """The node that the others name."""
    other: Node
    requested: dict[str, Node]
    """A node for each kind of device that they ask for."""
    examples: list[Node]
    """A node for each usage of an op among them; a training graph has thousands that are alike."""
    alike: tuple[object, ...]
    """Equal for groups that every target treats in the same way, such as most variables of a model."""


@check
def colocated_nodes_have_a_device(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if target.device == "gpu" and not loader.soft_placement:
        reasons = {group.alike: _conflict(group, model, target) for group in model.once(_examples)}
        for group in model.once(_groups) if any(reasons.values()) else ():
            if reason := reasons[group.alike]:
                node, head = group.other, group.head
                yield NoCommonDevice(nodes=[node], op=node.op, other=head.name, reason=reason)


def _examples(model: CheckedModel) -> list[ColocatedNodes]:
    """A group of each kind."""
    return list({group.alike: group for group in reversed(model.once(_groups))}.values())


def _groups(model: CheckedModel) -> Iterator[ColocatedNodes]:
    """The groups of nodes that ask to run with one another, or use the same variable."""
    graph = model.model.graph
    for body in (graph, *graph.library.functions.values()):
        for group in (*_asking(body), *_variables(body)):
            examples = {model.usage_of(node): node for node in group}
            requested = _requested(group, model)
            devices = frozenset((kind, node.device) for kind, node in requested.items())
            alike = (group[0].op, group[1].op, body is graph, devices, frozenset(examples))
            yield ColocatedNodes(group[0], group[1], requested, list(examples.values()), alike)


def _asking(graph: Graph) -> Iterator[list[Node]]:
    """The nodes that name others in `_class`, directly or not, each group with a node that is named first."""
    leaders: dict[str, str] = {}

    def leader(name: str) -> str:
        passed = []
        while (before := leaders.setdefault(name, name)) != name:
            passed.append(name)
            name = before
        leaders.update(dict.fromkeys(passed, name))
        return name

    for node in graph:
        listed = node.attr(CLASS)
        for name in listed if isinstance(listed, list) else ():
            text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
            head = text.removeprefix(LOCATION)
            if text.startswith(LOCATION) and head in graph.nodes and head != node.name:
                leaders[leader(node.name)] = leader(head)
    groups: dict[str, list[Node]] = {}
    for name in leaders:
        first = leader(name)
        group = groups.setdefault(first, [graph.nodes[first]])
        if name != first:
            group.append(graph.nodes[name])
    yield from groups.values()


def _variables(graph: Graph) -> Iterator[list[Node]]:
    """Variables that ask for no device, and their users, some of which ask for a GPU; these come last."""
    for handle in graph:
        if handle.op == HANDLE and not handle.device:
            users = sorted((u for u in handle.users if u.op in OF_VARIABLES), key=lambda u: bool(u.device))
            if users and {requested_kind(user.device) for user in users if user.device} == {GPU}:
                yield [handle, *users]


def _requested(group: list[Node], model: CheckedModel) -> dict[str, Node]:
    requests = model.device_requests
    requested = {
        requested_kind(node.device): node
        for node in group
        if node.device and is_valid_name(node.device) and is_local(node.device)
        if not isinstance(node.graph, Function) or not requests.is_ignored(node)
    }
    requested.pop("", None)
    return requested


def _conflict(group: ColocatedNodes, model: CheckedModel, target: Target) -> str:
    """Why no device does for all nodes of a group; empty if one does."""
    requested = group.requested
    if len(requested) > 1:
        return "they ask for " + " and ".join(sorted(node.device for node in requested.values()))
    kinds = kinds_of_devices(target)
    for kind in requested or kinds:
        if all(model.has_kernel(node, target, kind) for node in group.examples):
            return ""
    wanted = "/".join(requested or kinds)
    return f"no kernel for {wanted} serves both `{group.head.op}` and `{group.other.op}`"
