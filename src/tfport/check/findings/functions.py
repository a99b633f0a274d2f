"""Can every loader use the functions of a model? Findings 105 to 111."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from tfport.atlas.target import Target
from tfport.check.checked_model import CALLERS, CheckedModel, UnresolvedNodes
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import Finding, check, finding, merged
from tfport.check.loader_stages import (
    CALL_TYPES,
    CALLED_FUNCTIONS,
    CALLEES,
    FUNCTION_NAMES,
    GENERIC_FUNCTIONS,
    IN_CALLED_FUNCTIONS,
    PLACEMENT,
    RECURSION,
)
from tfport.check.loaders import Loader
from tfport.check.node_contexts import LOWER
from tfport.check.release_quirks import aborts_lowering_loops
from tfport.graph.attrs import FunctionRef
from tfport.graph.dtypes import DType
from tfport.graph.graph import Function, Graph, Node
from tfport.graph.op_facts.kinds import CALLS
from tfport.graph.reach import Callers, called_by
from tfport.registry.unresolved import Question

BY_CALL, BY_ATTRIBUTE = "an op that only calls it", "an attribute of another op"


@finding("TFP105", "missing-function", noticed={BY_CALL: CALLEES, BY_ATTRIBUTE: CALLED_FUNCTIONS})
class MissingFunction(Finding):
    """function `{called}` is called but is not in the model

    ## Cause
    The graph was extracted from a larger one without its function library, or edited by hand.
    ## Fix
    Export the model again; a frozen graph keeps its functions in `library`.
    ## Example
        y = PartitionedCall() {Tin=[], Tout=[float32], f=@lost}
        on tensorflow==2.8.4
    """

    called: str

    def says(self) -> str:
        return tensorflow_messages.no_function(self.called, self.on)


@finding("TFP106", "call-does-not-fit", noticed=CALL_TYPES)
class CallTypeMismatch(Finding):
    """node `{node}` calls `{called}` with {arguments} {wanted}; the function has {actual}

    ## Cause
    The types in the call differ from the function's: one of the two was edited.
    ## Fix
    Export the model again.
    ## Example
        tfport check tests/truth/models/call_of_other_types --on tensorflow==2.8.4 --loader capi
    """

    called: str
    arguments: str
    """`inputs` or `outputs`."""
    wanted: str
    actual: str


@finding("TFP107", "function-named-as-op", noticed=FUNCTION_NAMES)
class FunctionNamedAsOp(Finding):
    """function `{called}` has the same name as an op of {target}

    ## Cause
    The model defines a function whose name is also the name of an op, or became one in a later
    release.
    ## Fix
    Rename the function and export again.
    ## Example
        tfport check tests/truth/models/function_named_as_op --on tensorflow==2.8.4 --loader capi
    """

    called: str

    def says(self) -> str:
        return f"Cannot add function '{self.called}' because an op with the same name already exists."


@finding("TFP108", "recursive-function", noticed=RECURSION)
class RecursiveFunction(Finding):
    """function `{called}` calls itself, which Python cannot load

    ## Cause
    Python creates a model's functions in an order where each one comes after those it calls. A
    session does not need such an order.
    ## Fix
    Write the recursion as a loop and export again.
    ## Example
        tfport check tests/truth/models/recursion --on tensorflow==2.8.4 --loader python
    """

    called: str

    def says(self) -> str:
        return f"There is a cyclic dependency between functions. Could not resolve ['{self.called}']."


@finding("TFP109", "generic-function", noticed=GENERIC_FUNCTIONS)
class GenericFunction(Finding):
    """function `{called}` has argument types that depend on its callers, which Python cannot load

    ## Cause
    The function was not written by Python's TensorFlow; C++ runs it.
    ## Fix
    Give the function's arguments fixed types.
    ## Example
        tfport check tests/truth/models/generic_function --on tensorflow==2.8.4 --loader python
    """

    called: str


@finding("TFP110", "no-lowering", noticed={Question.LOWERING: PLACEMENT})
class NoLowering(Finding):
    """{target} cannot lower op `{op}` of node `{node}` to TF1 control flow

    ## Cause
    The node's attribute `_lower_using_switch_merge`, which TensorFlow 2 writes, requests `Switch`
    and `Merge` ops in its place. 1.13 and 1.14 know the attribute, but lower only `If` and `While`.
    ## Fix
    Use 1.15 or later, or 1.12, which ignores the attribute.
    ## Example
        tfport check tests/truth/models/case --on tensorflow==1.14.0 --loader capi
    """

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls()

    def says(self) -> str:
        return (
            f"Node {{{{node {self.node}}}}} of type {self.op} has '_lower_using_switch_merge' attr set but "
            "it does not support lowering."
        )


@finding("TFP111", "aborts-lowering-loop", noticed=IN_CALLED_FUNCTIONS)
class AbortsLoweringLoop(Finding):
    """{target} aborts when it lowers loop `{node}` in a function

    ## Cause
    The attribute `_lower_using_switch_merge`, which TensorFlow 2 writes, asks for the loop to be
    lowered. In a function that a `PartitionedCall` runs, 1.12 does not find the loop's functions
    and aborts the process ("lower_while_op.cc: Check failed: fdef != nullptr").
    ## Fix
    `tfport fix` removes the attribute: the loop then calls its functions. Or use 1.13 or later.
    ## Example
        tfport check tests/truth/models/lowered_loop_in_call --on tensorflow==1.12.3
    """

    def says(self) -> str:
        return "Check failed: fdef != nullptr"

    def fixes(self) -> list[str]:
        return ["`tfport fix` removes the attribute `_lower_using_switch_merge`", "use 1.13 or later"]


@check
def loops_are_lowered(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    if aborts_lowering_loops(target):
        for node in model.once(_lowered_loops):
            yield AbortsLoweringLoop(nodes=[node], op=node.op)


def _lowered_loops(model: CheckedModel) -> list[Node]:
    return loops_lowered_in_calls(model.model.graph)


def loops_lowered_in_calls(graph: Graph) -> list[Node]:
    """The While nodes to lower in functions that a PartitionedCall runs, or in branches lowered in one."""
    functions, callers = graph.library.functions, Callers()
    calls = [call for body in (graph, *functions.values()) for call in callers.of(body)]
    called = {name for node, names in calls if node.op in CALLS for name in names}
    size = 0
    while size < len(called):
        size = len(called)
        for name in called & functions.keys():
            for node, names in callers.of(functions[name]):
                if node.op in functions or node.attrs.get(LOWER) is True:
                    called.update(names)
    bodies = [function for name, function in functions.items() if name in called]
    return [node for body in bodies for node in body if node.op == "While" and node.attrs.get(LOWER) is True]


@check
def functions_are_callable(model: CheckedModel, target: Target, loader: Loader) -> Iterator[Finding]:
    yield from model.once(_functions)
    for function in model.model.graph.library.functions.values():
        if function.name in target.registry and (node := next(iter(function), None)):
            yield FunctionNamedAsOp(nodes=[node], called=function.name)


def _functions(checked: CheckedModel) -> list[Finding]:
    graph, callers = checked.model.graph, checked.contexts.callers
    findings: list[Finding] = []
    for function in graph.library.functions.values():
        if function.definition.attr and (node := next(iter(function), None)):
            findings.append(GenericFunction(nodes=[node], called=function.name))
        calling = [node for node, _ in callers.of(function)]
        if calling and function.name in called_by(calling, callers):
            findings.append(RecursiveFunction(nodes=[calling[0]], called=function.name))
    for body in (graph, *graph.library.functions.values()):
        for node, names in callers.of(body):
            findings += _calls(node, names)
    return merged(findings)


def _calls(node: Node, names: list[str]) -> Iterator[Finding]:
    """What is wrong with the functions that a node calls."""
    functions = node.graph.library.functions
    for name in names:
        if name in functions:
            if node.op in CALLERS:
                yield from _types(node, functions[name])
        elif node.graph.ops.get(name) is None:
            case = BY_CALL if node.op in CALLERS else BY_ATTRIBUTE
            yield MissingFunction(nodes=[node], op=node.op, called=name, case=case)


def _types(node: Node, function: Function) -> Iterator[Finding]:
    """Whether a function has the inputs and outputs that the attributes of its call say."""
    called = node.attrs.get("f")
    if not isinstance(called, FunctionRef) or called.name != function.name or function.definition.attr:
        return
    inputs, outputs = function.definition.input_arg, function.definition.output_arg
    for attr, arguments, args in (("Tin", "inputs", inputs), ("Tout", "outputs", outputs)):
        wanted, actual = node.attrs.get(attr), [DType.of(arg.type) for arg in args]
        if isinstance(wanted, list) and wanted != actual:
            yield CallTypeMismatch(
                nodes=[node],
                op=node.op,
                called=function.name,
                arguments=arguments,
                wanted=str(wanted),
                actual=str(actual),
            )
