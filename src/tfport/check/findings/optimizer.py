"""Does the optimizer of a session break the graph? Findings 310, 318 and 319."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import IN_CALLED_FUNCTIONS, LIVE, NEVER, Noticed
from tfport.check.loaders import Loader
from tfport.check.release_quirks import misreads_control_inputs, optimizes_functions_as_written
from tfport.graph.constants import constant, inverse, permutation
from tfport.graph.graph import Argument, Node

OPTIMIZED = Noticed(serving=(LIVE, None, None), python_2=NEVER, objects=NEVER)
"""What the optimizer of a session does to the part of the main graph that runs."""


@finding("TFP310", "waits-for-cancelled-transpose", noticed=OPTIMIZED)
class WaitsForCancelledTranspose(Finding):
    """node `{node}` waits for `{transpose}`, which the optimizer of {target} removes

    ## Cause
    TensorFlow 1.4's optimizer removes two transposes that cancel each other out. If a node waits
    for the second one through a control input, the optimizer replaces this control input with a
    data input, although the op takes none. TensorFlow then reads uninitialized memory: many runs
    crash, and the others run without optimization. 1.5 and later keep the control input.
    ## Fix
    `tfport fix` makes the node wait for an Identity of the transpose, which the optimizer keeps. Or
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
            "`tfport fix` makes the node wait for an Identity of the transpose",
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


@finding("TFP318", "default-not-stated-in-function", noticed=IN_CALLED_FUNCTIONS)
class DefaultNotStatedInFunction(Finding):
    """the optimizer of {target} aborts: `{node}` in a function does not state `{attr}`

    ## Cause
    TensorFlow leaves out attributes that have their default value when it saves a model. The
    sessions of 1.9 to 1.12 optimize functions before they add the defaults, and the optimizer reads
    `StridedSlice`'s masks without checking whether they are there, and the process aborts ("CHECK
    failed: it != end(): key not found: new_axis_mask"). 1.13 adds the defaults first.
    ## Fix
    `tfport fix` states the attributes. Or disable `constant_folding` in the session's
    `rewrite_options`, or use 1.13 or later.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = StatefulPartitionedCall(x) {Tin=[float32], Tout=[float32], f=@rest}
        def rest(a: float32) -> (r: float32):
          one = Const() {dtype=int32, value=int32(1,)[1]}
          two = Const() {dtype=int32, value=int32(1,)[2]}
          b = StridedSlice(a, one, two, one) {Index=int32, T=float32}
          return r=b
        on tensorflow==1.12.3
    """

    def says(self) -> str:
        return f"CHECK failed: it != end(): key not found: {self.attr}"

    def fixes(self) -> list[str]:
        return [
            "`tfport fix` states the attributes",
            "disable `constant_folding` in the session's `rewrite_options`",
        ]


@finding("TFP319", "scatter-not-optimized-in-function", noticed=IN_CALLED_FUNCTIONS)
class ScatterNotOptimizedInFunction(Finding):
    """the optimizer of {target} crashes on op `{op}` in a function

    ## Cause
    The sessions of 1.9 to 1.12 optimize functions without the shapes of their variables. The op's
    shape function reads its variable's shape without checking whether it has one, and the process
    crashes (SIGSEGV). In the main graph the op runs, and 1.13 checks first.
    ## Fix
    `tfport fix` writes a model without functions. Or use 1.13 or later.
    ## Example
        tfport check tests/truth/models/scatter_nd_in_call --on tensorflow==1.12.3
    """

    def fixes(self) -> list[str]:
        return ["`tfport fix` writes a model without functions", "use 1.13 or later"]


@check
def functions_state_what_is_optimized(
    model: CheckedModel, target: Target, loader: Loader
) -> Iterator[Finding]:
    if optimizes_functions_as_written(target):
        yield from model.once(_unstated)
        yield from model.once(_scatters)


def _unstated(model: CheckedModel) -> Iterator[Finding]:
    for function in model.model.graph.library.functions.values():
        for node in function:
            if (attr := unstated_default(node)) is not None:
                yield DefaultNotStatedInFunction(nodes=[node], op=node.op, attr=attr)


SCATTERS = ("ResourceScatterNdUpdate", "ResourceScatterNdAdd")
"""The ops with that shape function (common_shape_fns.cc of 1.12)."""


def _scatters(model: CheckedModel) -> Iterator[Finding]:
    for function in model.model.graph.library.functions.values():
        for node in function:
            if node.op in SCATTERS and isinstance(node.inputs[0].source().node, Argument):
                yield ScatterNotOptimizedInFunction(nodes=[node], op=node.op)


CHANGES_AXES, CUTS = ("new_axis_mask", "shrink_axis_mask"), ("begin_mask", "end_mask")


def unstated_default(node: Node) -> str | None:
    """The first absent attribute that constant folding reads of a node in a function; None if there is none.

    It skips a slice that adds or removes axes, and one whose begin, end and strides are not
    constants. Of 145 ops with default attributes, no other aborted in a body without them.
    """
    if node.op != "StridedSlice":
        return None
    for attr in CHANGES_AXES:
        if node.attrs.get(attr, 0) or attr not in node.attrs:
            return attr if attr not in node.attrs else None
    is_known = all(constant(value.source()) is not None for value in node.inputs[1:])
    return next((attr for attr in CUTS if is_known and attr not in node.attrs), None)
