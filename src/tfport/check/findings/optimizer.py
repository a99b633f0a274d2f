"""Does the optimizer of a session break the graph? Finding 310."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import LIVE, NEVER, Noticed
from tfport.check.loaders import Loader
from tfport.check.release_quirks import misreads_control_inputs
from tfport.graph.constants import inverse, permutation
from tfport.graph.graph import Node

OPTIMIZED = Noticed(serving=(LIVE, None, None), python_2=NEVER, objects=NEVER)
"""What the optimizer of a session does to the part of the main graph that runs."""


@finding("TFP310", "waits-for-cancelled-transpose", noticed=OPTIMIZED)
class WaitsForCancelledTranspose(Finding):
    """node `{node}` waits for `{transpose}`, which the optimizer of {target} removes

    ## Cause
    The optimizer of TensorFlow 1.4 removes two transpositions that cancel each other. A node
    that waits for the second (a control input) gets a data input instead, which its op does
    not have. What TensorFlow then reads is not initialized: the process crashes in many runs,
    and runs without optimization in the others. 1.5 and later keep the control input.
    ## Fix
    `tfport fix` lets the node wait for an Identity of the transposition, which stays. Or
    disable `arithmetic_optimization` in the session's `rewrite_options`.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        swap = Const() {dtype=int32, value=int32(2,)[1, 0]}
        a = Transpose(x, swap) {T=float32, Tperm=int32}
        b = Transpose(a, swap) {T=float32, Tperm=int32}
        one = Const(^b) {dtype=float32, value=float32()[1.0]}
        y = Add(b, one) {T=float32}
        on tensorflow==1.4.1
    """

    transpose: str

    def fixes(self) -> list[str]:
        return [
            "`tfport fix` lets the node wait for an Identity of the transposition",
            "disable `arithmetic_optimization` in the session's `rewrite_options`",
        ]


@check
def nothing_waits_for_cancelled_transposes(
    model: CheckedModel, target: Target, loader: Loader
) -> Iterator[Finding]:
    if misreads_control_inputs(target):
        yield from model.once(_waiting)


def _waiting(model: CheckedModel) -> Sequence[Finding]:
    return [
        WaitsForCancelledTranspose(nodes=[user], op=user.op, transpose=node.name)
        for node in model.model.graph
        if node.op == "Transpose" and _cancels_another(node)
        for user in node.users
        if node in user.controls
    ]


def _cancels_another(node: Node) -> bool:
    """Whether a transposition undoes the one that it reads; Identity nodes between them are removed."""
    own = permutation(node.output(0))
    return own is not None and permutation(node.inputs[0].source()) == inverse(own)
