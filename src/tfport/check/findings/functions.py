"""Are the functions of a model ones that every loader can take? Findings 10x, beside those of `ops`."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.finding import Finding, finding
from tfport.check.findings.trouble import Trouble, answers
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Node
from tfport.graph.model import Model
from tfport.graph.reach import Callers, called_by
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question, Unresolved

CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
Lapses = Iterator[tuple[Usage, Unresolved]]


@finding("TFP105", "missing-function")
class MissingFunction(Finding):
    """function `{called}` is called and is not in the model

    ## Cause
    The graph was cut out of a larger one without its function library, or edited.
    ## Fix
    Export the model again; a frozen graph keeps its functions in `library`.
    ## Example
        y = PartitionedCall() {Tin=[], Tout=[float32], f=@lost}
        on tensorflow==2.8.4
    """

    called: str

    def says(self) -> str:
        return wording.no_function(self.called, self.on)


@finding("TFP106", "call-does-not-fit")
class CallDoesNotFit(Finding):
    """node `{node}` calls `{called}` as one that {does} {wanted}; it {does} {found}

    ## Cause
    The types at the call are not those of the function: one of the two was edited.
    ## Fix
    Export the model again.
    """

    called: str
    does: str
    wanted: str
    found: str


@finding("TFP108", "recursive-function")
class RecursiveFunction(Finding):
    """function `{called}` calls itself, which Python cannot load

    ## Cause
    Python makes the functions of a model in an order in which each comes after those that
    it calls. A session does not ask for one.
    ## Fix
    Write the recursion as a loop and export again.
    """

    called: str

    def says(self) -> str:
        return f"There is a cyclic dependency between functions. Could not resolve ['{self.called}']."


@finding("TFP109", "generic-function")
class GenericFunction(Finding):
    """function `{called}` takes arguments whose types its calls decide, which Python cannot load

    ## Cause
    The function was written by another program than Python's TensorFlow; C++ runs it.
    ## Fix
    Give the arguments of the function their types.
    """

    called: str


@finding("TFP110", "no-lowering")
class NoLowering(Finding):
    """{target} cannot lower op `{op}` to the loops and branches of TF1, as node `{node}` asks

    ## Cause
    The attribute `_lower_using_switch_merge` says so: TensorFlow 2 writes it, and 1.13 and
    1.14 know it, but lower only `If` and `While`.
    ## Fix
    Use 1.15 or later, or 1.12, which does not know the attribute.
    """

    def says(self) -> str:
        return (
            f"Node {{{{node {self.node}}}}} of type {self.op} has '_lower_using_switch_merge' attr set but "
            "it does not support lowering."
        )


@answers(Question.LOWERING)
def no_lowering(trouble: Trouble) -> Finding:
    return NoLowering(on=trouble.target, nodes=trouble.nodes, op=trouble.op)


@answers(Question.FUNCTION, Question.CALLEE)
def missing_function(trouble: Trouble) -> Finding:
    return MissingFunction(
        on=trouble.target, nodes=trouble.nodes, op=trouble.op, called=trouble.reason.actual
    )


@answers(Question.CALL_TYPES)
def call_does_not_fit(trouble: Trouble) -> Finding:
    called, does = trouble.reason.attr.split("\n")
    return CallDoesNotFit(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        called=called,
        does=does,
        wanted=trouble.reason.expected,
        found=trouble.reason.actual,
    )


@answers(Question.RECURSION)
def recursive_function(trouble: Trouble) -> Finding:
    return RecursiveFunction(on=trouble.target, nodes=trouble.nodes, called=trouble.reason.actual)


@answers(Question.GENERIC)
def generic_function(trouble: Trouble) -> Finding:
    return GenericFunction(on=trouble.target, nodes=trouble.nodes, called=trouble.reason.actual)


def function_lapses(model: Model, callers: Callers) -> Lapses:
    """What is wrong with the functions of a model, whatever the target."""
    for function in model.graph.library.functions.values():
        if function.definition.attr and (node := next(iter(function), None)):
            yield _lapse(node, Question.GENERIC, function.name)
        calling = [node for node, _ in callers.of(function)]
        if calling and function.name in called_by(calling, callers):
            yield _lapse(calling[0], Question.RECURSION, function.name)
    for graph in (model.graph, *model.graph.library.functions.values()):
        for node, names in callers.of(graph):
            yield from _calls(node, names)


def _calls(node: Node, names: list[str]) -> Lapses:
    """What is wrong with the functions that a node calls."""
    functions = node.graph.library.functions
    for name in names:
        if name in functions:
            if node.op in CALLS:
                yield from _types(node, functions[name])
        elif node.graph.ops.get(name) is None:
            yield _lapse(node, Question.CALLEE if node.op in CALLS else Question.FUNCTION, name)


def _types(node: Node, function: Function) -> Lapses:
    """Whether a function takes and gives what the attributes of its call say."""
    called = node.attrs.get("f")
    if not isinstance(called, FunctionRef) or called.name != function.name or function.definition.attr:
        return
    takes, gives = function.definition.input_arg, function.definition.output_arg
    for attr, does, args in (("Tin", "takes", takes), ("Tout", "gives", gives)):
        wanted, found = node.attrs.get(attr), [DType.of(arg.type) for arg in args]
        if isinstance(wanted, list) and wanted != found:
            reason = Unresolved(Question.CALL_TYPES, f"{function.name}\n{does}", str(found), str(wanted))
            yield Usage(node, (), [node]), reason


def _lapse(node: Node, question: Question, found: str) -> tuple[Usage, Unresolved]:
    return Usage(node, (), [node]), Unresolved(question, actual=found)
