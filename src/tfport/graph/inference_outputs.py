"""Guess the outputs of a graph without signatures: what a user would fetch for inference.

A frozen graph or a MetaGraph does not say which of its tensors are results. In a graph that only
infers, these are the tensors that no node reads. A training graph continues behind its results:
labels, loss, metrics, gradients and updates read them. These are set aside first, and the results
are the tensors that only they read:

- what saves, restores, initializes, summarizes, fills queues or updates variables;
- gradients and loss ops, with all that is computed from them;
- what is computed from labels: inputs that meet no parameter on their way;
- the last steps of the loss: reductions and differences that only it reads.

Of a graph without gradients, moving averages and assertions are set aside, and results of its real
inputs are preferred to those of placeholders with a default, such as the learning phase.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import cache

from tfport.errors import MalformedGraph
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import EXITS
from tfport.graph.reach import loops, needed_by
from tfport.graph.shapes import Shape
from tfport.graph.state import VARIABLES


def _ops(patterns: str) -> Callable[[str], object]:
    """A test for op names, from names with `*`; compiled when it is needed, which takes a while."""

    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile("|".join(map(translate, patterns.split())))

    return cache(lambda name: compiled().match(name))


_is_source = _ops("""
    Placeholder* *GetNext* *Dequeue* ParseExample* ParseSingleExample* ParseSequenceExample* ReaderRead*
""")
"""Their outputs come from outside: fed tensors, and the elements of a data set."""
_is_bookkeeping = _ops("""
    Const Placeholder* Variable* VarHandleOp NoOp Assert Print* *Summary* Save* Restore* MergeV2Checkpoints
    ShardedFile* *Enqueue* *Queue *QueueV2 QueueClose* QueueSize* *Iterator MakeIterator
    IteratorV2 *Dataset *DatasetV? Assign* ResourceApply* Apply* SparseApply*
    ResourceSparseApply* Scatter*Add Scatter*Sub Scatter*Update
    ResourceScatter* IsVariableInitialized VarIsInitializedOp InitializeTable* LookupTableI* *HashTable*
    Destroy* Barrier* *Reader *ReaderV2 IteratorToStringHandle
""")
"""Never a result, and what reads only these is not one either."""
_is_saver = _ops("Save* Restore* MergeV2Checkpoints")
_is_loss = _ops(
    "*CrossEntropy* CTCLoss* L2Loss *CandidateSampler *Grad *GradV? NcclAllReduce CollectiveReduce*"
)
_is_loss_step = _ops("""
    Mean Sum AddN Add AddV2 RealDiv Div DivNoNan Mul Square SquaredDifference Sub Abs Neg Pow Sqrt Log Log1p
    Exp Identity Cast Reshape Squeeze ExpandDims Maximum Minimum Max Select SelectV2
    Greater* Less* Equal Softplus
""")
_is_update_step = _ops("""
    Mul Sub Add AddV2 Cast Identity ReadVariableOp Merge Shape StridedSlice Pack All Any Logical* Equal
    Greater* Less*
""")
"""The last steps of a moving average and of an assertion."""
_is_shape = _ops("Shape ShapeN Size Rank")
_is_carrier = _ops(
    "Identity ReadVariableOp Enter RefEnter Switch RefSwitch Cast StopGradient Reshape Transpose"
)
_has_several_results = _ops("TopK* *NonMaxSuppression* CTC*Decoder StatefulPartitionedCall PartitionedCall")
"""Of other ops, an unread output beside a read one is a by-product."""
_has_one_result = _ops("Merge FusedBatchNorm*")
_reads_lengths = _ops("CTC*Decoder")
"""Gives a result though it reads the lengths of sequences, which look like labels."""
_ASSERTIONS = re.compile(r"(^|/)assert\w*/")
_METRICS = re.compile(r"(^|/)(metrics|accuracy)(_\d+)?/")
_GRADIENT_OF = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+?)_grad/")
_GRADIENTS = re.compile(r"(^|/)(gradients|gradient_tape)(_\d+)?/")


def guess_outputs(model: Model) -> list[str]:
    """The names of the tensors that are probably the results of inference; empty if none can be."""
    results = _results(model)
    inputs = (value for value in _sources(model.graph) if value.node.op != "PlaceholderWithDefault")
    for sources in (inputs, _sources(model.graph)):
        computed = _after(sources)
        if preferred := [value for value in results if value.node in computed]:
            return [value.name for value in preferred]
    return [value.name for value in results]


def possible_outputs(model: Model) -> list[str]:
    """The same, with the results that no input changes, such as variables that nothing else reads."""
    return [value.name for value in _results(model)]


def _results(model: Model) -> list[Value]:
    graph = model.graph
    aside = {node for node in graph if _is_bookkeeping(node.op) or _ASSERTIONS.search(node.name)}
    aside |= {*model.init_nodes, *_saving(model)}
    if is_training_graph(graph):
        return _training_results(graph, aside)
    updates = _only_read_by(aside, lambda node: bool(_is_update_step(node.op)))
    return _ends(graph, aside | updates) or _ends(graph, aside)


def _saving(model: Model) -> set[Node]:
    """What saves and restores, with all that it needs, such as the name of the file."""
    ends = [node for node in model.graph if _is_saver(node.op)]
    return set(needed_by([*ends, *model.save_nodes, *model.restore_nodes]))


def _sources(graph: Graph) -> Iterator[Value]:
    return (value for node in graph if _is_source(node.op) for value in _outputs(node))


def is_training_graph(graph: Graph) -> bool:
    """Whether a graph computes gradients for its variables; those of a frozen graph are results."""
    return any(node.op in VARIABLES for node in graph) and any(map(_is_gradient, graph))


def _is_gradient(node: Node) -> bool:
    return _GRADIENTS.search(node.name) is not None


def _training_results(graph: Graph, aside: set[Node]) -> list[Value]:
    """The results in a training graph: what only training reads, and no later layer."""
    fed = _after(_sources(graph))
    readers = _parameter_readers(graph)
    training = _training(graph, aside, readers, fed)
    watched = _only_read_by(aside, lambda node: node not in training)  # summaries, moving averages
    trained = _after(node.output(0) for node in graph if _is_parameter(node))
    ends = _ends(graph, aside | training | watched) or _ends(graph, aside | training)
    ends = [v for v in ends if v.node.op not in EXITS] or ends  # the last states of a loop
    ends = [v for v in ends if v.node in fed and v.node in trained and not _is_source(v.node.op)] or ends
    inner = _before(node for node in needed_by(value.node for value in ends) if node in readers)
    return [value for value in ends if not any(read in inner for read in value.node.inputs)] or ends


def _ends(graph: Graph, aside: set[Node]) -> list[Value]:
    """The tensors that only nodes set aside read."""
    inside = _inside_loops(graph)
    return [
        value
        for node in graph
        if node not in aside and node not in inside and not _is_pivot(node)
        for value in _unread(node, aside)
    ]


def _outputs(node: Node) -> list[Value]:
    """The outputs of a node; none if it claims more than can be read."""
    try:
        return node.outputs
    except MalformedGraph:
        return []


def _is_pivot(node: Node) -> bool:
    """Whether a node only starts a branch: it has a value only if the branch is taken."""
    return node.op == "Identity" and any(value.node.op == "Switch" for value in node.inputs)


def _unread(node: Node, aside: set[Node]) -> list[Value]:
    if node.signature is None:  # a custom op: nothing says how many outputs it has
        return [node.output(0)] if aside.issuperset(node.users) else []
    outputs = [value for value in _outputs(node) if value.dtype.name not in ("resource", "variant")]
    unread = [value for value in outputs if aside.issuperset(value.uses)]
    if len(unread) < len(outputs) and not _has_several_results(node.op):
        return []
    return [value for value in unread if not value.dtype.is_ref][: 1 if _has_one_result(node.op) else None]


def _training(graph: Graph, aside: set[Node], readers: set[Node], fed: set[Node]) -> set[Node]:
    """Gradients, losses and metrics."""
    training = {
        node for node in graph if _is_gradient(node) or _is_loss(node.op) or _METRICS.search(node.name)
    }
    training |= set(_losses(graph, _before(readers)))
    training |= _after(value for node in training for value in node.read_outputs)
    training |= fed - _after(_sources(graph), stops=_is_shape)  # what depends only on shapes
    inputs = _before(reader for reader in readers if reader not in training)
    labels = (value for value in _sources(graph) if value not in inputs)
    training |= _after(labels, stops=_reads_lengths)

    def is_step(node: Node) -> bool:
        return bool(_is_loss_step(node.op)) and node not in readers and node not in aside

    return training | _only_read_by(training, is_step)


def _losses(graph: Graph, inner: set[Value]) -> Iterator[Node]:
    """The tensors that were differentiated: gradients have the names of the nodes that they belong to."""
    named = (_GRADIENT_OF.search(node.name) for node in graph)
    nodes = {node for match in named if match and (node := graph.find(match[1])) is not None}
    inside = _inside_loops(graph)
    for node in nodes:
        is_last = nodes.isdisjoint(node.users) and inner.isdisjoint(node.read_outputs)
        if is_last and _is_loss_step(node.op) and node not in inside:
            yield node


def _only_read_by(ends: set[Node], accepts: Callable[[Node], bool]) -> set[Node]:
    """The accepted nodes that only `ends`, gradients and such nodes read."""
    added: set[Node] = set()
    stack = [value.node for node in ends if not _is_gradient(node) for value in node.inputs]
    while stack:
        node = stack.pop()
        if node in added or node in ends or not accepts(node):
            continue
        users = (user for value in node.read_outputs for user in value.uses)
        if all(user in added or user in ends or _is_gradient(user) for user in users):
            added.add(node)
            stack += [value.node for value in node.inputs]
    return added


def _parameter_readers(graph: Graph) -> set[Node]:
    """The nodes that compute with a parameter."""
    readers: set[Node] = set()
    stack = [user for node in graph if _is_parameter(node) for user in node.users]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if _is_carrier(node.op):
            users = [user for user in node.users if user not in seen]
            seen.update(users)
            stack += users
        elif not _is_bookkeeping(node.op) and not _is_gradient(node):
            readers.add(node)
    return readers


def _is_parameter(node: Node) -> bool:
    """Whether a node is a variable of floats that is not a scalar, as counters and rates are."""
    if node.op not in VARIABLES:
        return False
    shape, dtype = node.attr("shape"), node.attr("dtype")
    is_scalar = isinstance(shape, Shape) and shape.dims == ()
    return "float" in str(dtype) and not is_scalar


def _before(nodes: Iterable[Node]) -> set[Value]:
    """The values that these nodes read, directly or indirectly."""
    seen: set[Value] = set()
    stack = [value for node in nodes for value in node.inputs]
    while stack:
        value = stack.pop()
        if value not in seen:
            seen.add(value)
            stack += value.node.inputs
    return seen


def _after(values: Iterable[Value], stops: Callable[[str], object] = lambda op: False) -> set[Node]:
    """The nodes that read these values, directly or indirectly."""
    seen: set[Node] = set()
    stack = list(values)
    while stack:
        for user in stack.pop().uses:
            if user not in seen and not stops(user.op):
                seen.add(user)
                stack += user.read_outputs
    return seen


def _inside_loops(graph: Graph) -> set[Node]:
    """The nodes inside TF1 loops, whose outputs cannot be fetched."""
    bodies = loops(graph).values() if graph.has_branches else ()
    return {node for nodes in bodies for node in nodes if node.op not in EXITS}
