"""From a graph to a program: the walk that calls lowerings and kernels.

Nodes are visited in order, from what is fed to what is fetched. A node is answered
at once where its inputs are constant; otherwise it becomes a step, with its lowering
and its host kernel, as far as there are any. A call is walked into with what it
passes, so every function is specialised to its caller: captures are bound, constants
and shapes go in with them. Nothing in the graph is changed.
Branches and loops are structures of their own: `control`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import CannotRun, Error, MalformedGraph, RunFailed
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.graph import Argument, Function, Graph, Node, Value
from tfport.graph.inline import call_attrs, callee, substitute
from tfport.graph.node import WHOLE
from tfport.graph.shapes import UNKNOWN
from tfport.graph.signature import OpSignature
from tfport.runtime.attr_upgrade import upgraded_attrs
from tfport.runtime.custom.shape_functions import with_checked_shapes
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import PLANNING, planning_error
from tfport.runtime.host import Group, group_inputs, host_run, kernel_arguments
from tfport.runtime.implementations import BUILT_IN, OpImplementations
from tfport.runtime.lower import CannotLower, Context, Implementation
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.ops.control.list_facts import ListFacts
from tfport.runtime.order import reached, walk
from tfport.runtime.program import OnnxNode, Program, Run, Step, needed
from tfport.runtime.state import State, Variable

if TYPE_CHECKING:
    from tfport.runtime.ops.control.switch_merge import Structures

Env = dict[Value, Operand]
CallAttrs = Mapping[str, Attr]
"""The attributes with which a generic function is called."""
DEEPEST = 200
UNDEFINED = "nobody has defined this op; `tfport.op` defines it, `tfport.stub` replaces it for one session"
MOST_FOLDED = 1 << 24
"""Bytes that a folded node may answer with, unless its inputs are as large."""
_WIDER = {"bfloat16": FLOAT32, "float16": FLOAT32}
_READS = frozenset(
    ("ReadVariableOp", "LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2",
     "LookupTableExport", "LookupTableExportV2", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp",
     "IsVariableInitialized", "VariableShape", "TensorArrayReadV3", "TensorArraySizeV3")
)  # fmt: skip
"""They touch a resource, so they keep their place in the order, but what nobody reads need not run."""

_PURE = frozenset(["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"])
"""Stateful to TensorFlow for the sake of training; here they answer alike each time."""


@dataclass(frozen=True, slots=True)
class UnsupportedNode:
    """A node that nothing here can run."""

    node: Node
    why: str

    def __str__(self) -> str:
        return f"`{self.node.name}` ({self.node.op}): {self.why}"


class Tracer:
    """Makes one program; what it baked into it, and what it could not, is kept beside it."""

    def __init__(
        self, state: State, engine: Engine, *, bake: bool = True, repertoire: OpImplementations = BUILT_IN
    ) -> None:
        self.state, self.engine, self.bake, self.repertoire = state, engine, bake, repertoire
        self.steps: list[Step] = []
        self.baked: set[Variable] = set()
        self.problems: list[UnsupportedNode] = []
        self.lists: dict[Operand, ListFacts] = {}
        """What is known of lists of tensors: see `control.lists`."""
        self.counters: set[Operand] = set()
        """What counts turns, and so is never negative."""
        self._depth = 0
        self._signatures: dict[str, OpSignature | None] = {}
        """Of ops that the repertoire defines itself; None for TensorFlow's."""
        self._structures: dict[Graph, Structures] = {}

    def program(self, args: list[Operand], walk_through: Callable[[], list[Operand]]) -> Program:
        """The steps that a walk makes, as a program of its own."""
        around, self.steps = self.steps, []
        try:
            results = walk_through()
        finally:
            made, self.steps = self.steps, around
        return Program(args, needed(made, results), results)

    def region(
        self,
        ends: Iterable[Node],
        env: Env,
        given: CallAttrs | None = None,
        inside: Container[Node] | None = None,
    ) -> None:
        """Answer every node that these need and that `env` does not know yet; `inside`: no others."""
        roots = list(ends)
        found = self.structures(roots)
        for node in walk(roots, env, inside, found.units if found is not None else None):
            if isinstance(node, Node):
                self._node(node, env, given or {})
            else:
                node.trace(self, env, given or {})

    def structures(self, ends: Sequence[Node]) -> Structures | None:
        """The branches and loops of TF1 in a graph, as far as what is asked of it needs them."""
        if not ends or not ends[0].graph.has_branches:
            return None
        graph = ends[0].graph
        if graph not in self._structures:
            from tfport.runtime.ops.control.switch_merge import Structures

            self._structures[graph] = Structures.of(reached(ends))
        return self._structures[graph]

    def values(self, value: Value, env: Env, given: CallAttrs) -> list[Operand]:
        """What a value is; a list of unknown length in a generic function is several."""
        found = env.get(value) if value.is_placed else None
        if found is not None:
            return [found]
        node, port = value.node, value.port
        signature = self.signature_of(node)
        if isinstance(node, Argument):
            return [env[node.output(i)] for i in range(node.count(given) or 0)]
        if port is None or signature is None:
            raise MalformedGraph(f"there is no `{value}` to read")
        attrs = substitute(node.attrs, given)
        first = signature.index_of(port[0], max(port[1], 0), attrs)
        count = (signature.length_of(port[0], attrs) or 0) if port[1] == WHOLE else 1
        if first is None or any(node.output(first + i) not in env for i in range(count)):
            raise MalformedGraph(f"there is no `{value}` to read")
        return [env[node.output(first + i)] for i in range(count)]

    def call(self, function: Function, inputs: Sequence[Operand], given: CallAttrs) -> list[Operand]:
        """What a function returns for these; its steps become ours."""
        if self._depth > DEEPEST:
            raise CannotRun(f"{function.name} calls itself, deeper than {DEEPEST} calls")
        attrs = {**function.signature.defaults, **function.attrs, **given}
        args = [arg.output(i) for arg in function.args.values() for i in range(arg.count(attrs) or 0)]
        if len(args) != len(inputs):
            raise MalformedGraph(f"{function.name} takes {len(args)} tensors and is passed {len(inputs)}")
        env = dict(zip(args, inputs, strict=True))
        self._depth += 1
        try:
            self.region(_ends(function), env, attrs)
            return [
                o for end in function.returns.values() for v in end.inputs for o in self.values(v, env, attrs)
            ]
        finally:
            self._depth -= 1

    def add(self, step: Step) -> tuple[Operand, ...]:
        """Put a step behind those before it; its outputs."""
        self.steps.append(step)
        return step.outputs

    def read_variable(self, handle: Operand, name: str, dtype: DType) -> Operand:
        """The value of a variable: a constant unless something assigns to it."""
        variable = handle.value
        if (
            self.bake
            and isinstance(variable, Variable)
            and variable.value is not None
            and not variable.changes
        ):
            self.baked.add(variable)
            self.state.baked.add(variable)  # before its value is read: who changes it later will say so
            return Operand(dtype, value=variable.value, name=name)
        shape = variable.shape if isinstance(variable, Variable) else None
        out = Operand(dtype, shape, name=name)
        self.add(
            Step(name, "ReadVariableOp", (handle,), (out,), run=lambda given: [given[0].read()], effect=False)
        )
        return out

    def signature_of(self, node: Node) -> OpSignature | None:
        """What an op takes and gives, as the repertoire defines it or TensorFlow does."""
        if node.op not in self._signatures:
            self._signatures[node.op] = self.repertoire.signature_of(node.op)
        return self._signatures[node.op] or node.signature

    def plain(self, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> Sequence[Operand]:
        """The step of a node as if it were no structure."""
        signature = self.signature_of(node)
        assert signature is not None
        return self._step(node, inputs, attrs, signature)

    def _node(self, node: Node, env: Env, given: CallAttrs) -> None:
        if node.op in ("_Retval", "_ControlReturn"):
            return
        attrs = substitute(node.attrs, given) if given else node.attrs
        signature = self.signature_of(node)
        if signature is not None:
            attrs = dict(signature.with_defaults(upgraded_attrs(attrs, signature)))
        inputs = [operand for value in node.inputs for operand in self.values(value, env, given)]
        try:
            answers = self._answer(node, inputs, attrs, signature)
        except PLANNING as error:
            types = [operand.dtype for operand in inputs]
            definition = self.repertoire.definition_of(node.op)
            raise planning_error(error, node.name, node.op, definition, attrs, types) from error
        for i, operand in enumerate(answers):
            env[node.output(i)] = operand

    def _answer(
        self, node: Node, inputs: list[Operand], attrs: dict[str, Attr], signature: OpSignature | None
    ) -> Sequence[Operand]:
        called = callee(node)
        if called is not None:
            return self.call(called, inputs, substitute(call_attrs(node), attrs))
        if signature is None:
            self.problems.append(UnsupportedNode(node, UNDEFINED))
            return [Operand(FLOAT32) for _ in node.outputs]
        inputs = self._dereferenced(node, inputs, signature)
        if wrong := self.repertoire.misfits(node.op, attrs, [operand.dtype for operand in inputs]):
            self.problems.append(UnsupportedNode(node, "; ".join(wrong)))
            return self._unanswered(signature, attrs)
        structure = self.repertoire.structure_of(node.op)
        if structure is not None:
            try:
                answer: Sequence[Operand] = structure.function(self, node, inputs, attrs)
            except CannotRun as error:
                self.problems.append(UnsupportedNode(node, str(error)))
                return self._unanswered(signature, attrs)
            return answer
        return self._step(node, inputs, attrs, signature)

    def _unanswered(self, signature: OpSignature, attrs: CallAttrs) -> list[Operand]:
        """What stands for the outputs of a node that cannot run, so that others can be looked at."""
        count = signature.output_count(attrs) or 0
        return [Operand(signature.output_type(i, attrs)) for i in range(count)]

    def _dereferenced(self, node: Node, inputs: list[Operand], signature: OpSignature) -> list[Operand]:
        """TF1's variables are read by whoever does not ask for the variable itself."""
        if not any(operand.dtype.is_ref for operand in inputs):
            return inputs
        wants = [arg.is_ref for arg in signature.inputs if not arg.is_list]
        return [
            self.read_variable(operand, node.name, operand.dtype.base)
            if operand.dtype.is_ref and not (i < len(wants) and wants[i])
            else operand
            for i, operand in enumerate(inputs)
        ]

    def _step(
        self, node: Node, inputs: list[Operand], attrs: dict[str, Attr], signature: OpSignature
    ) -> Sequence[Operand]:
        types = tuple(signature.output_type(i, attrs) for i in range(signature.output_count(attrs) or 0))
        groups = group_inputs(inputs, attrs, signature)
        context = Context(self.state, node.name, node.op, types)
        kernel = self.repertoire.kernel_for(node.op, attrs)
        run: Run | None = None
        if kernel is not None:
            try:
                run = host_run(kernel, groups, kernel_arguments(kernel, node, attrs, signature), context)
            except CannotRun as error:
                self.problems.append(UnsupportedNode(node, str(error)))
        touches = any(o.dtype.name == "resource" or o.dtype.is_ref for o in inputs)
        stateful = signature.stateful and node.op not in _PURE
        ordered = (stateful or touches) and not (kernel is not None and kernel.once)
        if run is not None and not ordered and (folded := _fold(run, inputs, types, node.name)) is not None:
            return folded
        lowered, outputs, why = None, None, "no lowering"
        if not ordered:
            lowered, outputs, why = self._lowered(node, groups, attrs, signature, types)
        if lowered is None and run is None and not any(problem.node is node for problem in self.problems):
            self.problems.append(UnsupportedNode(node, self._missing(node.op, attrs, why)))
        if outputs is None:
            shapes = self._shapes(node, inputs, attrs, len(types))
            if run is not None and kernel is not None and kernel.strict:
                run = with_checked_shapes(run, shapes, node.name, node.op)
            outputs = [Operand(t, s, name=node.name) for t, s in zip(types, shapes, strict=True)]
        _hint(node, outputs)
        effect = ordered and node.op not in _READS
        self.add(
            Step(node.name, node.op, tuple(inputs), tuple(outputs), lowered, run, effect, why, attrs=attrs)
        )
        return outputs

    def _shapes(self, node: Node, inputs: list[Operand], attrs: CallAttrs, count: int) -> list[Dims | None]:
        rule = self.repertoire.shapes_of(node.op)
        if rule is None:
            return [None] * count
        try:
            return rule(inputs, attrs)
        except CannotRun as error:
            self.problems.append(UnsupportedNode(node, str(error)))
            return [None] * count

    def _missing(self, op: str, attrs: CallAttrs, why: str) -> str:
        if (told := self.repertoire.why_missing(op, attrs, why)) is not None:
            return told
        if not self.repertoire.kernels_of(op) and not self.repertoire.lowerings_of(op):
            return "tfport has no kernel for this op"
        types = ", ".join(f"{k}={v}" for k, v in attrs.items() if isinstance(v, DType))
        return f"tfport has no kernel for {types or 'these attributes'} ({why})"

    def _lowered(
        self,
        node: Node,
        groups: Sequence[Group],
        attrs: dict[str, Attr],
        signature: OpSignature,
        types: Sequence[DType],
    ) -> tuple[list[OnnxNode] | None, list[Operand] | None, str]:
        """The ONNX nodes that say a node, and its outputs; or why there are none."""
        why = "it has no lowering" if self.repertoire.definition_of(node.op) else "ONNX has no such op"
        found = self.repertoire.lowerings_for(node.op, attrs)
        if not found and self.repertoire.lowerings_of(node.op):
            why = "no lowering for these types"
        for declared in found:
            for widen in (False, True):
                try:
                    return (*self._say(declared, node, groups, attrs, signature, types, widen), "")
                except CannotLower as reason:
                    why = str(reason)
                except Exception as error:
                    if not declared.strict:
                        raise
                    said = f"its lowering fails: {type(error).__name__}: {error}"
                    self.problems.append(UnsupportedNode(node, said))
                    return None, None, ""
                if not any(isinstance(v, DType) and v.name in _WIDER for v in attrs.values()):
                    break
        return None, None, why

    def _say(
        self,
        declared: Implementation,
        node: Node,
        groups: Sequence[Group],
        attrs: dict[str, Attr],
        signature: OpSignature,
        types: Sequence[DType],
        widen: bool,
    ) -> tuple[list[OnnxNode], list[Operand]]:
        b = Builder(node.name)
        kwargs = kernel_arguments(declared, node, attrs, signature)
        if (
            widen
        ):  # the engine computes in float32 where it has nothing for narrower types, as TensorFlow does
            kwargs = {k: _WIDER.get(v.name, v) if isinstance(v, DType) else v for k, v in kwargs.items()}
            groups = [[_widened(b, o) for o in g] if isinstance(g, list) else _widened(b, g) for g in groups]
        answer = declared.function(b, *groups, **kwargs)
        outputs = list(_flat(answer))
        if len(outputs) != len(types):
            raise ValueError(f"the lowering of {node.op} gives {len(outputs)} outputs, not {len(types)}")
        if widen:
            outputs = [b.cast(o, t) for o, t in zip(outputs, types, strict=True)]
        for output, dtype in zip(outputs, types, strict=True):
            if output.dtype != dtype.base:
                raise ValueError(f"the lowering of {node.op} gives {output.dtype}, not {dtype}")
        for made in b.made:
            if not self.engine.takes(made):
                kinds = ", ".join(o.dtype.name for o in made.inputs if o is not None)
                raise CannotLower(f"{self.engine.name} has no {made.op} for {kinds}")
        return b.made, outputs


def _ends(function: Function) -> list[Node]:
    """What a call runs: what is returned, and effects; a function of TF1 does not say which, so all."""
    if function.control_returns:
        return function.ends
    # what is done to a TensorArray matters to those who read its flow, which is in the order anyway
    aside = (n for n in function if not n.op.startswith(("_Arg", "TensorArray")) and n.op not in _READS)
    return [*function.ends, *(n for n in aside if n.is_stateful)]


def _widened(b: Builder, operand: Operand) -> Operand:
    wider = _WIDER.get(operand.dtype.name)
    return b.cast(operand, wider) if wider else operand


def _flat(answer: Any) -> Iterable[Operand]:
    if isinstance(answer, Operand):
        yield answer
    elif answer is not None:
        for one in answer:
            yield from _flat(one)


def _fold(run: Run, inputs: Sequence[Operand], types: Sequence[DType], name: str) -> list[Operand] | None:
    """What a node answers where its inputs are constant; None where only a run can tell, errors included."""
    if not all(operand.is_constant for operand in inputs):
        return None
    values = [operand.value for operand in inputs]
    try:
        with np.errstate(all="ignore"):
            answers = run(values)
    except (Error, RunFailed, MemoryError):
        return None
    given = sum(v.nbytes for v in values if isinstance(v, np.ndarray))
    made = sum(a.nbytes for a in answers if isinstance(a, np.ndarray))
    if made > max(MOST_FOLDED, 2 * given) or any(a is None for a in answers):
        return None
    return [Operand(t, value=a, name=name) for t, a in zip(types, answers, strict=True)]


def _hint(node: Node, outputs: Sequence[Operand]) -> None:
    """Take ranks from what the file says of shapes, where nothing else tells them."""
    for i, output in enumerate(outputs):
        if output.shape is None and (told := node.output_shape(i)) is not UNKNOWN and told.dims is not None:
            output.shape = (None,) * len(told.dims)


def raise_unsupported(problems: Sequence[UnsupportedNode], where: str) -> None:
    """Say all that cannot run, at once."""
    if problems:
        said = list(dict.fromkeys(map(str, problems)))
        more = f"; and {len(said) - 20} more" if len(said) > 20 else ""
        nodes = "1 node" if len(said) == 1 else f"{len(said)} nodes"
        raise CannotRun(f"{where}: {nodes} cannot run here: {'; '.join(said[:20])}{more}")


__all__ = ["CallAttrs", "Env", "Tracer", "UnsupportedNode", "raise_unsupported"]
