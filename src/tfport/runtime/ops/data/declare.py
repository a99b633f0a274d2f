"""`@dataset` declares an op on datasets: a host kernel whose attributes may be functions.

    @dataset("MapDataset ParallelMapDataset")
    def map_dataset(input_dataset, other_arguments, *, f, preserve_cardinality=False): …

A function attribute becomes a Python function of tensors. Its captures (`other_arguments`, or the
input named after it) are bound already, so it is called with the arguments before them.
Attributes that only affect speed may be left out; any other that is not named is refused.
A dataset that is returned gets the types and shapes of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from tfport.errors import CannotRun, RunFailed
from tfport.graph.attrs import Attr, FunctionRef
from tfport.graph.graph import Node
from tfport.graph.op_facts.records import declared_ranks
from tfport.runtime.host import Group, group_inputs, host_run, inferred_attrs
from tfport.runtime.lower import CONTEXT, Context, Implementation, structure
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control import functional as control
from tfport.runtime.ops.control.structure_steps import InnerProgram, captured_by
from tfport.runtime.ops.data.dataset import DEEPEST, Dataset
from tfport.runtime.program import Program, Step
from tfport.runtime.trace import Tracer

F = TypeVar("F", bound=Callable[..., Any])
Attrs = dict[str, Attr]
SPEED_ONLY = frozenset(
    ("metadata", "output_types", "output_shapes", "Toutput_types", "parallel_copy", "sloppy", "deterministic",
     "use_inter_op_parallelism", "use_unbounded_threadpool", "force_synchronous", "replicate_on_split",
     "is_files", "slack_period", "legacy_autotune", "buffer_size_min", "algorithm", "cpu_budget",
     "ram_budget", "optimization_configs", "serialized_options", "has_captured_ref",
     "log_warning", "use_default_device")
)  # fmt: skip
"""Attributes that do not change the elements; where any order is allowed, tfport keeps the input order."""


def dataset(ops: str) -> Callable[[F], F]:
    """Declare the kernel of ops on datasets."""

    def declare(function: F) -> F:
        code = function.__code__
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        kernel = Implementation(
            ops, function, frozenset(named) - {CONTEXT}, {}, wants_context=CONTEXT in named
        )
        structure(ops)(partial(_trace, kernel))
        return function

    return declare


def _trace(
    kernel: Implementation, tracer: Tracer, node: Node, inputs: list[Operand], attrs: Attrs
) -> list[Operand]:
    signature = tracer.signature_of(node)
    assert signature is not None
    groups = group_inputs(inputs, attrs, signature)
    _refuse_unnamed(kernel, node, attrs, inferred_attrs(signature))
    by_name = {arg.name: group for arg, group in zip(signature.inputs, groups, strict=True)}
    programs = {
        name: _program(tracer, node, name, attrs, _captures(name, by_name))
        for name, value in attrs.items()
        if isinstance(value, FunctionRef)
    }
    around = captured_by(list(programs.values()))
    functions = {name: InnerProgram(program, tracer.engine, around) for name, program in programs.items()}
    types = tuple(signature.output_type(i, attrs) for i in range(signature.output_count(attrs) or 0))
    context = Context(tracer.state, node.name, node.op, types)
    plain = {name: value for name, value in attrs.items() if name in kernel.named and name not in programs}

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        own, captured = arrays[: len(inputs)], arrays[len(inputs) :]
        called = {name: partial(_call, inner, captured) for name, inner in functions.items()}
        answers = host_run(kernel, groups, {**plain, **called}, context)(own)
        for answer in answers:
            if isinstance(answer, Dataset):
                _describe(answer, own, attrs)
        return answers

    ranks: Sequence[Dims | None] = [None]
    if types and types[0].name != "variant":
        ranks = declared_ranks(attrs["output_types"], attrs["output_shapes"])
    outputs = [Operand(t, rank, name=node.name) for t, rank in zip(types, ranks, strict=True)]
    step = Step(node.name, node.op, (*inputs, *around), tuple(outputs), run=run, effect=signature.stateful)
    step.programs = tuple(programs.values())
    return list(tracer.add(step))


def _describe(dataset: Dataset, inputs: Sequence[Any], attrs: Attrs) -> None:
    """Set the depth of a dataset, and the types and shapes of its elements."""
    dataset.depth = 1 + max((value.depth for value in inputs if isinstance(value, Dataset)), default=0)
    if dataset.depth > DEEPEST:
        raise RunFailed(f"more than {DEEPEST} datasets are chained")
    if not dataset.types:
        dataset.types = attrs.get("output_types") or attrs.get("Toutput_types") or ()
        dataset.shapes = attrs.get("output_shapes") or ()


def _refuse_unnamed(kernel: Implementation, node: Node, attrs: Attrs, decided: frozenset[str]) -> None:
    for name in attrs:
        if name not in kernel.named | SPEED_ONLY | decided and not name.startswith("_"):
            raise CannotRun(f"the kernel of {node.op} does not support the attribute {name}")


def _call(inner: InnerProgram, captured: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    return inner.run(list(args), captured)


def _captures(name: str, by_name: Mapping[str, Group]) -> list[Operand]:
    for called in (f"{name}_other_arguments", f"{name}_other_args", "other_arguments"):
        group = by_name.get(called)
        if group is not None:
            return group if isinstance(group, list) else [group]
    return []


def _program(tracer: Tracer, node: Node, name: str, attrs: Attrs, captures: Sequence[Operand]) -> Program:
    """A function of the graph, with its captures bound.

    Variables are read at each call, since a dataset outlives the run that made it.
    """
    function, overrides = control.function_of(node, name, attrs)
    function_attrs = {**function.signature.defaults, **function.attrs, **overrides}
    values = [arg.output(i) for arg in function.args.values() for i in range(arg.count(function_attrs) or 0)]
    if len(values) < len(captures):
        raise CannotRun(
            f"{function.name} takes {len(values)} tensors, but there are {len(captures)} captures"
        )
    args = []
    for value in values[: len(values) - len(captures)]:
        dims = value.shape.dims
        args.append(Operand(value.dtype.base, None if dims is None else (None,) * len(dims), name=node.name))
    bake, tracer.bake = tracer.bake, False
    try:
        return tracer.program(args, lambda: tracer.call(function, [*args, *captures], overrides))
    finally:
        tracer.bake = bake
