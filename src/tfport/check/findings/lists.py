"""Can lists grow as the model needs it? Finding 213."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import KERNEL_LIMITS
from tfport.check.loaders import Loader
from tfport.check.release_quirks import sets_only_existing_elements
from tfport.graph.constants import constant
from tfport.graph.graph import Node, Value
from tfport.graph.op_facts.kinds import ALL_SWITCHES, ENTERS, MERGES, NEXTS, PASSING
from tfport.graph.reach import every_node
from tfport.graph.value_readers import readings

RESIZE = "resize_if_index_out_of_bounds"
SAME_LIST = PASSING.union(ENTERS, MERGES, ALL_SWITCHES, NEXTS, ["IdentityN"])
"""Ops whose output is the list that they read."""


@finding("TFP213", "empty-list-cannot-grow", noticed=KERNEL_LIMITS)
class EmptyListCannotGrow(Finding):
    """node `{node}` sets an element of an empty list, but {target} does not extend the list

    ## Cause
    A `tf.TensorArray(size=0, dynamic_size=True)` grows when it is written to. TensorFlow 2.13
    and newer save this as an attribute of the op (`resize_if_index_out_of_bounds`); 2.5 to 2.12
    ignore the attribute and refuse the first element; older releases refuse the attribute.
    ## Fix
    `tfport fix` extends the list before the element is set (TensorListResize). Or give the
    TensorArray its size, or use 2.13 or newer.
    ## Example
        n = Const() {dtype=int32, value=int32()[0]}
        s = Const() {dtype=int32, value=int32(1,)[2]}
        x = Placeholder() {dtype=float32, shape=(2,)}
        l = TensorListReserve(s, n) {element_dtype=float32, shape_type=int32}
        m = TensorListSetItem(l, n, x) {element_dtype=float32, resize_if_index_out_of_bounds=true}
        y = TensorListStack(m, s) {element_dtype=float32, num_elements=-1}
        on tensorflow==2.10.0
    """

    def cause(self) -> str:
        return f"the list begins without elements; `{RESIZE}` is known since 2.13.0"

    def says(self) -> str:
        return "Trying to modify element 0 in a list with 0 elements."

    def fixes(self) -> list[str]:
        return ["`tfport fix` makes the list longer before the element is set"]


@check
def empty_lists_can_grow(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if sets_only_existing_elements(target):
        yield from model.once(_growing)


def _growing(model: CheckedModel) -> list[Finding]:
    nodes = dict.fromkeys(
        reading.node
        for node in every_node(model.model.graph)
        if node.op == "TensorListReserve" and _is_zero(node.inputs[1])
        for reading in readings(node.output(0), _same_list)
        if reading.index == 0 and reading.node.op == "TensorListSetItem" and reading.node.attrs.get(RESIZE)
    )
    return [EmptyListCannotGrow(nodes=[node], op=node.op) for node in nodes]


def _is_zero(count: Value) -> bool:
    tensor = constant(count.source())
    return tensor is not None and not tensor.numpy().any()


def _same_list(node: Node, index: int) -> Iterable[Value]:
    return node.outputs if node.op in SAME_LIST else ()
