"""Do the shapes fit, those of the inputs and those that the file states? Findings 210 to 212."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.target import OURS, Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding, check, finding
from tfport.check.loader_stages import INPUT_SHAPES, OUTPUT_SHAPES
from tfport.check.loaders import Loader
from tfport.check.refused_shapes import RefusedShapes, UndecidedShapes, refused_shapes, stated_shapes
from tfport.check.release_quirks import since
from tfport.graph.op_facts.rule import CHANGED_IN, Changes, text

STRIP = "delete the attribute `_output_shapes` from all nodes: nothing needs it"


@finding("TFP210", "output-shapes-contradict", noticed=OUTPUT_SHAPES)
class ContradictedOutputShapes(Finding):
    """`_output_shapes` of node `{node}` says {stated} for output {output}; {target} infers {inferred}

    ## Cause
    The attribute `_output_shapes` keeps the shapes that TensorFlow inferred when the graph
    was written. Importing the graph infers them again and refuses a contradiction: the
    graph was edited, or this release's shape function for the op is different. A session, and
    therefore TensorFlow Serving, does not read the attribute.
    ## Fix
    Delete `_output_shapes` from all nodes; nothing needs it.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = Neg(x) {T=float32, _output_shapes=[(3, 3)]}
        on tensorflow==2.8.4
        loader capi
    """

    output: int
    stated: str
    inferred: str
    sentence: str

    def cause(self) -> str:
        changed = CHANGED_IN.get(self.op or "", ())
        return f"the shape function of {self.op} changed in {' and '.join(changed)}" if changed else ""

    def says(self) -> str:
        return (
            f"Node '{self.node}' has an _output_shapes attribute inconsistent with the GraphDef for "
            f"output #{self.output}: {self.sentence}"
        )

    def fixes(self) -> list[str]:
        return [STRIP]


@finding("TFP211", "shapes-do-not-fit", noticed=INPUT_SHAPES)
class UnfitShapes(Finding):
    """the inputs of node `{node}` have shapes {inputs}, which op `{op}` does not accept

    ## Cause
    The shapes of constants, placeholders and variables determine the inputs' shapes, and these
    cannot fit: the graph was edited, or a placeholder has a different shape than the model was made
    for. Importing the graph fails; a session notices the mismatch when the node runs.
    ## Fix
    Export the model again, or correct the shape of the constant or placeholder.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        c = Const() {dtype=float32, value=float32(3, 1)[1, 2, 3]}
        y = MatMul(x, c) {T=float32}
        on tensorflow==2.8.4
    """

    inputs: str
    sentence: str

    def says(self) -> str:
        return f"{self.sentence} for '{self.node}' (op: '{self.op}') with input shapes: {self.inputs}."


@finding("TFP212", "output-shapes-undecided", noticed=OUTPUT_SHAPES)
class UndecidedOutputShapes(Finding):
    """`_output_shapes` of node `{node}` says {stated} for output {output}; {target} may infer another shape

    ## Cause
    Importing the graph infers the shapes again and refuses a contradiction. The shapes in the file
    were inferred from inputs that have changed since: a node before this one was added or edited
    later. Only TensorFlow knows which shape it infers now.
    ## Fix
    Delete `_output_shapes` from all nodes; nothing needs it.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 8, 8, 4)}
        y = DepthToSpace(x) {T=float32, block_size=2, _output_shapes=[(1, 16, 16, 3)]}
        on tensorflow==2.8.4
        loader capi
    """

    decides = False
    output: int
    stated: str
    edited: str
    edited_op: str
    has_shapes: bool

    def cause(self) -> str:
        how = "a different shape than its own `_output_shapes`" if self.has_shapes else "no `_output_shapes`"
        return f"node `{self.edited}` ({self.edited_op}) before it has {how}"

    def fixes(self) -> list[str]:
        return [STRIP]


@check
def shapes_fit(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if target.kind != OURS:
        changed = {release for op in model.once(_changed_ops) for release in CHANGED_IN[op]}
        yield from model.once(_shapes, frozenset(release for release in changed if since(target, release)))


def _changed_ops(checked: CheckedModel) -> set[str]:
    return {usage.op for usage in checked.usages if usage.op in CHANGED_IN}


def _shapes(checked: CheckedModel, changes: Changes) -> Iterator[Finding]:
    undecided: list[UndecidedShapes] = []
    for refused in refused_shapes(checked.model.graph, changes):
        if isinstance(refused, UndecidedShapes):
            undecided.append(refused)
        else:
            yield _refused(refused)
    if undecided:
        yield _undecided(undecided)


def _undecided(undecided: list[UndecidedShapes]) -> Finding:
    first = undecided[0]
    return UndecidedOutputShapes(
        nodes=[shapes.node for shapes in undecided],
        op=first.node.op,
        output=first.output,
        stated=text(first.stated.dims),
        edited=first.edited.name,
        edited_op=first.edited.op,
        has_shapes=bool(stated_shapes(first.edited)),
    )


def _refused(refused: RefusedShapes) -> Finding:
    node = refused.node
    if refused.output is None:
        inputs = ", ".join(text(shape.dims) for shape in refused.inputs)
        return UnfitShapes(nodes=[node], op=node.op, inputs=inputs, sentence=refused.message)
    return ContradictedOutputShapes(
        nodes=[node],
        op=node.op,
        output=refused.output,
        stated=text(refused.stated.dims),
        inferred=text(refused.inferred.dims),
        sentence=refused.message,
    )
