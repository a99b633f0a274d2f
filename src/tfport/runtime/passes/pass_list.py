"""All passes in the order in which they run, how one is declared, and a log of what each did.

    @graph_pass
    def repeated_loops(nodes, fetched, conditions): …   returns nodes to trace together, as one unit

    @node_pass
    def common_steps(tracer, node): …             returns the outputs of a node that needs no step, or None

    @loop_pass
    def recurrent_layers(tracer, loop): …         returns the variables after the loop, or None

    @program_pass
    def string_chains(program, engine): …         changes the steps of a program

    @host_pass
    def loops_together(steps): …                  returns the steps to run

    @island_pass(when=CPU)
    def gelu(graph): …                            changes the nodes of an island

A pass has the name of its function; the first sentence of its docstring is what `bench --profile` says of
it. It runs where its name stands in the list below: a pass that is not listed does not run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, TypeVar

from tfport.discovery import Catalog
from tfport.graph.graph import Node
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step
from tfport.startup.dataclass import dataclass, field

GRAPH = ("repeated_loops",)
"""Over the nodes of a graph before they are traced, if it has TF1 branches or loops, or suppresses boxes."""

NODE = (
    "constant_folding",
    "unchanged_inputs",
    "common_steps",
)  # fmt: skip
"""On a node when it is traced. The first that knows its outputs makes a step unnecessary."""

LOOP = (
    "suppression_loops",        # boxes that suppress each other
    "recurrent_layers",
    "masked_layers",
    "rounded_gru",              # TensorFlow Lite
)  # fmt: skip
"""Over a loop when its body is traced. The first that knows what the loop computes replaces it."""

PROGRAM = (
    "embedding_lookups",
    "hashed_features",
    "sparse_columns",
    "string_chains",
    "unrolled_lstm",
)  # fmt: skip
"""Over the steps of a traced program, before it is cut into islands."""

HOST = (
    "loops_together",
    "variable_accesses",
)  # fmt: skip
"""Over the steps that run on the host one after another, between two islands; not while they are timed."""

ISLAND: tuple[str, ...] = (
    "half_steps",               # CPU: float16 in float32
    "general_branches",         # GPU: no branches that only save time
    "safe_indices",             # GPU: a flag for indices out of range
    # in branches and loop bodies too
    "unused_nodes",
    "early_nodes",
    "layer_norm",
    "gelu",
    "prelu",
    "clamp",
    "gemm_bias",
    "dense_layers",
    "reshape_chains",
    "transposed_matmul",
    "fewer_transposes",
    "fewer_squeezes",
    "fuse_convolutions",
    # in the island only
    "finite_inputs",            # CPU: a flag for NaN in recurrent layers
    "separate_sums",            # GPU, as all that follow
    "fused_attention",
    "moved_attention_bias",
    "added_attention_bias",
    "packed_attention",
    "accurate_sigmoid_on_gpu",
    "reduced_precision",
)  # fmt: skip
"""Over the nodes of an island, before its work is estimated; then over those of its branches and loop bodies,
right before they are written."""

WRITTEN: tuple[str, ...] = (
    "cropped_layers",           # ONNX Runtime on a CPU, as all here
    "accurate_sigmoid",
    "fast_softplus",
    "few_output_channels",
    "fast_layer_norm",
    "long_windows",
    "image_blocks",
    "fast_prelu",               # OpenVINO too
    "equal_nodes",
)  # fmt: skip
"""Over the nodes of an island, and of each branch and body, right before they are written."""

F = TypeVar("F", bound=Callable[..., Any])


class NodeForms(Enum):
    """Which nodes a model has where several compute the same."""

    FASTEST = "those that are fastest or most accurate in ONNX Runtime on a CPU"
    OPENVINO = "those of the lowerings, without those that OpenVINO computes wrongly"
    PLAIN = "those of the lowerings"


class IslandUse(Enum):
    """For what the nodes of an island are, where they are not the usual ones."""

    CONVOLUTIONS_APART = "cuDNN computes the convolutions"
    PRODUCTS_APART = "cuBLASLt computes the products"
    MANY_POSITIONS = "attention over many positions"


@dataclass(frozen=True, slots=True)
class IslandForm:
    """In which form an engine takes islands."""

    for_cpu: bool = True
    """With the nodes that are fastest or most accurate on a CPU, and float16 computed in float32."""
    half: str | None = None
    """The type of 16 bits to compute products in, in place of float32."""
    fuses_attention: bool = False
    """With attention as a node of ONNX Runtime's own."""
    packs_attention: bool = False
    """With one product for the queries, keys and values of an attention."""
    separates_attention: bool = False
    """With several products again where an attention has many positions."""
    fuses_in_parts: bool = False
    """In parts, with convolutions or products, sums and Relus as operations of cuDNN or cuBLASLt."""
    for_openvino: bool = False
    """Without the nodes that are faster or more accurate only in ONNX Runtime."""
    divides: bool = False
    """In shares, of which another engine may compute some."""

    @property
    def nodes(self) -> NodeForms:
        """Which nodes it takes where several compute the same."""
        if not self.for_cpu:
            return NodeForms.PLAIN
        return NodeForms.OPENVINO if self.for_openvino else NodeForms.FASTEST


CPU_FORM = IslandForm()


@dataclass(frozen=True, slots=True)
class PassTarget:
    """For whom an island is rewritten."""

    form: IslandForm = CPU_FORM
    use: IslandUse | None = None
    has_kernel: Callable[[OnnxNode], bool] = lambda node: True
    """Whether the device has a kernel for a node and its types."""
    nodes: NodeForms = NodeForms.FASTEST
    """Which nodes are written; those of `form`, unless another engine gets a share of the island."""


@dataclass(frozen=True, slots=True)
class Condition:
    """When a pass runs."""

    text: str
    holds: Callable[[PassTarget], bool]


ALWAYS = Condition("always", lambda target: True)
CPU = Condition("on a CPU", lambda target: target.form.for_cpu)
GPU = Condition("on a GPU", lambda target: not target.form.for_cpu)
ONNX_RUNTIME_CPU = Condition("in ONNX Runtime on a CPU", lambda target: target.nodes is NodeForms.FASTEST)


@dataclass(frozen=True, slots=True)
class Pass:
    """A declared pass."""

    name: str
    function: Callable[..., Any]
    when: Condition = ALWAYS
    bodies: bool = False
    """Whether it runs in branches and loop bodies too."""

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return (self.function.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")


_DECLARED = Catalog[Pass]("passes", "tfport.runtime.passes")


@functools.cache
def declared(name: str) -> Pass:
    """The pass of a name, after importing the module that declares it."""
    (only,) = _DECLARED.of(name)
    return only


def all_passes() -> list[Pass]:
    """The listed passes, in order."""
    return [declared(name) for name in (*GRAPH, *NODE, *LOOP, *PROGRAM, *HOST, *ISLAND, *WRITTEN)]


def _declare(function: F) -> F:
    _DECLARED.add(function.__name__, Pass(function.__name__, function))
    return function


def graph_pass(function: F) -> F:
    """Declare a pass over nodes: `f(nodes, fetched, conditions)` returns units to trace, by their ends."""
    return _declare(function)


def node_pass(function: F) -> F:
    """Declare a pass on nodes: `f(tracer, node)` returns the outputs of one that needs no step, or None."""
    return _declare(function)


def loop_pass(function: F) -> F:
    """Declare a pass over loops: `f(tracer, loop)` adds steps and returns the variables, or None."""
    return _declare(function)


def program_pass(function: F) -> F:
    """Declare a pass over the steps of a program: `f(program, engine)` changes the program."""
    return _declare(function)


def host_pass(function: F) -> F:
    """Declare a pass over steps that run on the host: `f(steps)` returns the steps to run."""
    return _declare(function)


def island_pass(*, when: Condition = ALWAYS, bodies: bool = True) -> Callable[[F], F]:
    """Declare a pass over the nodes of an island: `f(graph)` changes an `IslandGraph`.

    `bodies`: also over those of its branches and loop bodies.
    """

    def declare(function: F) -> F:
        _DECLARED.add(function.__name__, Pass(function.__name__, function, when, bodies))
        return function

    return declare


@dataclass(slots=True)
class PassCount:
    """What a pass did: in how many programs or graphs it ran, and the steps or nodes it removed and added."""

    graphs: int = 0
    removed: int = 0
    added: int = 0


@dataclass(slots=True)
class PassLog:
    """What the passes did, by name, while plans were made."""

    counts: dict[str, PassCount] = field(default_factory=dict)

    def add(self, name: str, before: Sequence[object], after: Sequence[object]) -> None:
        """Note a run of a pass over steps or nodes."""
        count = self.counts.setdefault(name, PassCount())
        old, new = set(map(id, before)), set(map(id, after))
        count.graphs += 1
        count.removed += len(old - new)
        count.added += len(new - old)

    def add_node(self, name: str) -> None:
        """Note that a pass on nodes made the step of a node unnecessary; all nodes count as one graph."""
        count = self.counts.setdefault(name, PassCount(graphs=1))
        count.removed += 1


_LOG: ContextVar[PassLog | None] = ContextVar("tfport_pass_log", default=None)
current_log = _LOG.get
"""The log of this thread; None where nothing is logged."""


@contextmanager
def logging_passes(log: PassLog | None) -> Iterator[None]:
    """Let the passes that run inside of the block be noted in the log, or nowhere."""
    token = _LOG.set(log)
    try:
        yield
    finally:
        _LOG.reset(token)


def run_graph_passes(nodes: Collection[Node], fetched: Collection[Node], conditions: Any) -> dict[Node, Any]:
    """The units that passes find among the nodes of a graph, by the nodes whose outputs leave them."""
    units: dict[Node, Any] = {}
    for name in GRAPH:
        added = declared(name).function(nodes, fetched, conditions)
        if (log := current_log()) is not None:
            log.add(name, [], list(added.values()))
        units |= added
    return units


def run_node_passes(tracer: Any, node: Any) -> Sequence[Operand] | None:
    """The outputs of a node that needs no step; None for any other."""
    for name in NODE:
        outputs: Sequence[Operand] | None = declared(name).function(tracer, node)
        if outputs is not None:
            if (log := current_log()) is not None:
                log.add_node(name)
            return outputs
    return None


def run_loop_passes(tracer: Any, loop: Any) -> list[Operand] | None:
    """The variables after a loop that a pass knows; None for any other loop."""
    for name in LOOP:
        count = len(tracer.steps)
        results: list[Operand] | None = declared(name).function(tracer, loop)
        if results is not None:
            if (log := current_log()) is not None:
                log.add(name, loop.program.steps, tracer.steps[count:])
            return results
    return None


def run_program_passes(program: Program, engine: Any) -> Program:
    """The program after all passes over programs; the given one is not changed."""
    program, log = Program(program.args, program.steps, program.results), current_log()
    for name in PROGRAM:
        before = program.steps
        declared(name).function(program, engine)
        if log is not None:
            log.add(name, before, program.steps)
    return program


def run_host_passes(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps after all passes over steps on the host."""
    log = current_log()
    for name in HOST:
        before, steps = steps, declared(name).function(steps)
        if log is not None:
            log.add(name, before, steps)
    return steps
