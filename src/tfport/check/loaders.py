"""How a loader goes about a model, and when it notices what a target cannot resolve.

Watched on real binaries (`make truth` records it again):

- A session is made of the whole main graph, dead nodes included: every op, edge,
  kernel and device of it is asked for at load; what is wrong with an attribute only
  shows when its node runs. So it is for TensorFlow Serving (`serving`).
- The C API (`capi`) makes that session and then imports the graph a second time, which
  looks at every attribute, and since 1.12 into every function that the main graph calls.
- The body of a function is looked at when it runs; loading runs what restores and
  initialises.
- Python (`python`) in TensorFlow 1 imports the graph, and makes the session when it first
  runs something: at load only if there is something to restore or to initialise.
- Python in TensorFlow 2 imports every function, called or not, each as a graph of its own
  version. Of a model saved by TensorFlow 1 it imports the main graph too; of one saved by
  TensorFlow 2 it never looks at it. Kernels are only looked for when something runs, and
  a device that is not there is replaced by another.
- `keras` is Python's `tf.keras.models.load_model`: the same, with what `keras` adds to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfport.atlas.target import OURS, Target
from tfport.check.findings.files import has_index
from tfport.check.findings.finding import LOAD, RUN
from tfport.check.node_contexts import NodeContext
from tfport.check.release_quirks import folded_by_name, ignores_unknown_attributes, leaves_out, lowers, since
from tfport.graph.model import Model
from tfport.registry.unresolved import Question, Unresolved

CAPI, SERVING, PYTHON, KERAS = LOADERS = ("capi", "serving", "python", "keras")
RUNTIME = "tfport"
"""tfport's own runtime: it looks at nothing that it does not run."""
LIVE, REACHED, FIRST = "live", "reached", "first"
"""When it runs; at load, if anything runs it; when the session first runs anything."""
When = str | None
Table = dict[Question, tuple[When, When, When]]
"""When a trouble is noticed in the main graph, in a function that it calls, and in one that it does not."""

Q = Question
BUILT = (
    Q.NAME, Q.OP, Q.DATA_TYPE, Q.MISSING_ATTR, Q.INPUT_THERE, Q.OUTPUT_THERE, Q.INPUT_ORDER,
    Q.INPUTS_MANY, Q.INPUT_TYPE, Q.ACYCLIC,
)  # fmt: skip
"""What making a graph of the file needs."""
VALIDATED = (Q.UNKNOWN_ATTR, Q.ATTR_TYPE, Q.ATTR_MINIMUM, Q.ATTR_VALUE, Q.INPUTS_FEW, Q.DEPRECATED)
"""What importing a graph looks at, and making a kernel."""
PLACED = (Q.KERNEL, Q.KERNEL_TYPE, Q.DEVICE, Q.JOB, Q.DEVICE_NAME, Q.LOWERING)
"""What placing a graph on devices needs."""
LIFTED = ("Const", "Placeholder", "VarHandleOp", "VariableV2", "Variable")
TAKEN_OUT = ("Identity", "Const", "If", "While")
BY_NAME = (Q.ONLY_XLA, Q.DEFAULT_ATTR)
"""What matters in a function that is called as an op of its name: it runs where, and as, its call does."""
READ_BY_SHAPES = ("padding", "data_format")
"""Attributes whose value is looked at when shapes are inferred."""
REFUSED = (Q.REFUSED, Q.REFUSED_WITHOUT_ONEDNN)
PYTHON_ONLY = (Q.RECURSION, Q.GENERIC, Q.OUTDATED)

SESSION: Table = {
    **dict.fromkeys(BUILT, (LOAD, LIVE, None)),
    **dict.fromkeys(VALIDATED, (LIVE, LIVE, None)),
    **dict.fromkeys(PLACED, (LOAD, LIVE, None)),
    **dict.fromkeys((Q.FUNCTION, Q.CALL_TYPES), (LIVE, LIVE, None)),
    **dict.fromkeys((*PYTHON_ONLY, Q.COLOCATION), (None, None, None)),
    **dict.fromkeys(BY_NAME, (None, LIVE, None)),
    Q.DATA_TYPE: (LIVE, LIVE, None),
    **dict.fromkeys(REFUSED, (LIVE, LIVE, None)),
    Q.CALLEE: (LOAD, LIVE, None),
    Q.FUNCTION_NAME: (LOAD, LOAD, LOAD),
}
IMPORT: Table = {
    **SESSION,
    **dict.fromkeys((*VALIDATED, Q.DATA_TYPE), (LOAD, LIVE, None)),
    Q.COLOCATION: (LOAD, None, None),
}
IMPORT_WITH_SHAPES: Table = {
    **IMPORT,
    **dict.fromkeys((*BUILT, Q.ATTR_TYPE, Q.ATTR_MINIMUM, Q.INPUTS_FEW), (LOAD, LOAD, None)),
    Q.DATA_TYPE: (LOAD, LIVE, None),
}
PYTHON_1: Table = {
    **IMPORT_WITH_SHAPES,
    **dict.fromkeys((*PLACED, Q.CALLEE), (FIRST, LIVE, None)),
    Q.GENERIC: (None, LOAD, LOAD),
    Q.DEVICE_NAME: (LOAD, LIVE, None),
}
FUNCTIONS: Table = {
    **dict.fromkeys((*BUILT, *VALIDATED, Q.FUNCTION_NAME), (LOAD, LOAD, LOAD)),
    **dict.fromkeys((*PLACED, Q.CALL_TYPES, *REFUSED), (LIVE, LIVE, None)),
    **dict.fromkeys(BY_NAME, (None, None, None)),
    **dict.fromkeys((Q.FUNCTION, Q.CALLEE, Q.DEVICE_NAME, Q.RECURSION, Q.GENERIC), (LOAD, LOAD, LOAD)),
    Q.COLOCATION: (LOAD, None, None),
    Q.OUTDATED: (REACHED, LOAD, LOAD),
}
OBJECTS: Table = {
    question: (None, called, not_called) for question, (_, called, not_called) in FUNCTIONS.items()
}
RUNS: Table = {
    **dict.fromkeys(Question, (None, None, None)),
    **dict.fromkeys(
        (Q.OP, Q.KERNEL, Q.KERNEL_TYPE, Q.UNKNOWN_ATTR, Q.ATTR_TYPE, Q.MISSING_ATTR, Q.INPUT_THERE,
         Q.OUTPUT_THERE, Q.INPUTS_FEW, Q.INPUTS_MANY, Q.ACYCLIC, Q.FUNCTION, Q.CALLEE, Q.RECURSION),
        (LIVE, LIVE, None),
    ),
}  # fmt: skip
DEFINED: Table = {
    **RUNS,
    **dict.fromkeys((Q.ATTR_VALUE, Q.ATTR_MINIMUM, Q.INPUT_TYPE), (LIVE, LIVE, None)),
}
"""For ops of one's own, whose definition is taken at its word."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a loader of a release goes about a model."""

    loader: str
    table: Table
    soft: bool = False
    """Whether a node may run on another device than it asks for."""
    strips_defaults: bool = False
    """Whether attributes that say what the producer's op does anyway are taken off the main graph."""
    reads_versions: bool = True
    """Whether the versions in the file are looked at."""
    reads_versions_late: bool = False
    """Whether that waits until the session first runs something."""
    infers_shapes: bool = False
    """Whether it looks into functions only as far as the shapes of their results need."""
    restores_objects: bool = False
    """Whether the objects of a model are restored too, where its restore op leaves some out."""
    runs_at_load: bool = True
    """Whether loading runs anything."""
    lowers: bool = False
    """Whether branches and loops of the main graph that ask for it become part of it at load."""
    taken_out: frozenset[str] = frozenset()
    """Ops whose nodes are gone before their kernels are made: folded, lowered."""
    placed_anywhere: tuple[str, ...] = ()
    """Ops whose devices do not matter: they are lifted out."""
    folded_by_name: tuple[str, ...] = ()
    """The same in functions that are called as an op of their name."""
    defined: frozenset[str] = frozenset()
    """Ops of one's own in tfport's runtime."""
    left_out: frozenset[Question] = frozenset()
    """What does not matter in a function's node whose result nothing needs: it is left out before."""

    def notices(self, reason: Unresolved, op: str, place: NodeContext) -> tuple[str | None, bool]:
        """When it notices a trouble of a node in a place, if ever; and whether that stops everything."""
        question = Q.MISSING_ATTR if reason.structural else reason.question
        if self._passes_over(question, op, place):
            return None, False
        where = 0 if place.function is None else 1 if place.called else 2
        when = (DEFINED if op in self.defined else self.table)[question][where]
        if place.lowered and self.lowers:
            when = SESSION[question][0]
        elif place.in_branch and when == LOAD and self.infers_shapes:  # not there
            when = IMPORT[question][where]
        if question is Q.ATTR_VALUE and reason.attr in READ_BY_SHAPES:
            when = self.table[Q.ATTR_MINIMUM][where]
        live = LOAD if place.loading else RUN if place.signatures else None
        if place.idle and question in self.left_out:
            live = None
        if when == FIRST:
            return (LOAD if self.runs_at_load else RUN), True
        if when == REACHED:
            when = live and LOAD
        stage = live if when == LIVE else when
        return stage, stage == LOAD

    def _passes_over(self, question: Question, op: str, place: NodeContext) -> bool:
        """Whether a trouble is none for this loader, because of what becomes of the node before."""
        if question is Q.DEVICE and (place.by_name or op in self.placed_anywhere):
            return True  # a function called by its name runs where its call does
        if question in BY_NAME:
            return not place.by_name
        if place.by_name and op in self.folded_by_name and question in (*VALIDATED, *PLACED):
            return True
        return question is Q.UNKNOWN_ATTR and op in self.taken_out and not place.by_name


def default_loaders(target: Target) -> tuple[str, ...]:
    """Who loads a model where a target is used."""
    if target.kind == OURS:
        return (RUNTIME,)
    return (SERVING,) if target.kind == "serving" else (PYTHON, SERVING)


def way_of(loader: str, model: Model, target: Target) -> Way:
    if target.kind == OURS:
        return Way(
            RUNTIME,
            RUNS,
            soft=True,
            reads_versions=False,
            restores_objects=has_objects(model),
            defined=frozenset(
                op for source in target.registry.sources if source.name != OURS for op in source.ops()
            ),
        )
    if loader in (CAPI, SERVING):
        return _session(loader, target)
    if not since(target, "2.0") and not (loader == KERAS and since(target, "1.15")):
        table = _python_1(target)
        runs = _runs_at_load(model)
        return Way(
            loader,
            table,
            strips_defaults=True,
            infers_shapes=True,
            runs_at_load=runs,
            reads_versions_late=not since(target, "1.8"),
            taken_out=_taken_out(target) if not since(target, "1.8") else frozenset(),
            folded_by_name=folded_by_name(target),
            left_out=_left_out(target),
        )
    if has_objects(model):
        return Way(loader, OBJECTS, soft=True, reads_versions=False, restores_objects=True)
    table = FUNCTIONS
    if not since(target, "2.1"):  # places only functions softly
        table = {**table, Q.DEVICE: (LIVE, None, None)}
        return Way(loader, table, strips_defaults=True, placed_anywhere=LIFTED)
    if ignores_unknown_attributes(target):
        table = {**table, Q.FUNCTION_NAME: (None, None, None)}
    return Way(loader, table, soft=True, strips_defaults=True)


def _session(loader: str, target: Target) -> Way:
    table = SESSION
    if loader == CAPI:
        table = IMPORT_WITH_SHAPES if since(target, "1.14") else IMPORT
    return Way(
        loader,
        _of_release(table, target),
        infers_shapes=loader == CAPI,
        lowers=since(target, "1.13"),
        taken_out=_taken_out(target) if loader == SERVING else frozenset(),
        folded_by_name=folded_by_name(target),
        left_out=_left_out(target),
    )


def _python_1(target: Target) -> Table:
    table = _of_release(PYTHON_1, target)
    if not since(target, "1.14"):
        inside = _of_release(IMPORT, target)
        table = {question: (when[0], inside[question][1], None) for question, when in table.items()}
        table[Q.GENERIC] = PYTHON_1[Q.GENERIC]
    if not since(target, "1.8"):  # imports in Python, which looks at names, inputs and shapes
        table |= dict.fromkeys((Q.UNKNOWN_ATTR, Q.DEPRECATED, Q.ATTR_VALUE), (LIVE, LIVE, None))
        table[Q.ACYCLIC] = (FIRST, LIVE, None)
    return table


def _taken_out(target: Target) -> frozenset[str]:
    return frozenset(op for op in TAKEN_OUT if leaves_out(target, op) or lowers(target, op))


def _left_out(target: Target) -> frozenset[Question]:
    return frozenset((Q.DEVICE, Q.UNKNOWN_ATTR) if since(target, "1.13") else (Q.DEVICE,))


def _of_release(table: Table, target: Target) -> Table:
    """What is otherwise in earlier releases."""
    earlier: Table = {}
    if not since(target, "1.14"):
        earlier[Q.CALLEE] = (LIVE, LIVE, None)
        earlier[Q.DEVICE] = (table[Q.DEVICE][0], None, None)
    return {**table, **earlier}


def has_objects(model: Model) -> bool:
    """Whether TensorFlow 2 saved it, with the objects that Python makes again."""
    return model.meta.HasField("object_graph_def") and len(model.tag_sets) <= 1


def _runs_at_load(model: Model) -> bool:
    return bool(model.init_nodes or (model.restore_nodes and has_index(model)))
