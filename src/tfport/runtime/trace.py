"""Turn a graph into a program: walk its nodes and apply lowerings and kernels.

Nodes are visited in order, from the feeds to the fetches. A node is computed at once where its
inputs are constant; otherwise it becomes a step, with its lowering and its host kernel where it has
them. Calls are inlined with their arguments, so every function is specialized to its caller:
captures are bound, and constants and shapes are propagated. The graph itself is not changed.
Branches and loops are structure ops: `ops.control`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tfport.errors import CannotRun, MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.graph import WHOLE, Argument, Function, Graph, Node, Value
from tfport.graph.inline import call_attrs, callee, substitute
from tfport.graph.op_signature import OpSignature
from tfport.graph.shapes import UNKNOWN
from tfport.registry.attr_upgrade import upgraded_attrs
from tfport.runtime.bounds.output_sizes import with_checked_size
from tfport.runtime.bounds.run_scope import NO_LIMITS, RunLimits, current_scope
from tfport.runtime.custom.shape_functions import with_checked_shapes
from tfport.runtime.effect_order import READS, is_ordered, is_unseeded, required_nodes
from tfport.runtime.engines.engine import Engine
from tfport.runtime.failures import PLANNING, UnsupportedNode, missing_kernel, planning_error, unknown_op
from tfport.runtime.host import group_inputs, host_run, host_shapes, kernel_arguments
from tfport.runtime.hosted import HostedSteps, hosted_node
from tfport.runtime.implementations import BUILT_IN, OpImplementations, TracedOp
from tfport.runtime.lower import CONTROL_UNITS, Context
from tfport.runtime.lower_node import LoweredNode, NodeLowering
from tfport.runtime.operand import Dims, Operand
from tfport.runtime.order import ControlUnits, reached, walk
from tfport.runtime.passes.pass_list import run_node_passes
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import NeverLowered, Program, Run, Step, needed
from tfport.runtime.state import State, Variable
from tfport.runtime.value_facts import CONST, EqualConstants, ListFacts, ValueFacts
from tfport.startup.dataclass import dataclass

Env = dict[Value, Operand]
CallAttrs = Mapping[str, Attr]
"""The attributes with which a generic function is called, by name."""
MAX_CALL_DEPTH = 200


class TracedStep(NamedTuple):
    """A step, and the node that it is of."""

    node: Node
    step: Step


@dataclass(slots=True)
class NodeToTrace:
    """A node that has a step, unless a pass over nodes knows its outputs."""

    name: str
    op: str
    inputs: Sequence[Operand]
    attrs: CallAttrs
    types: tuple[DType, ...]
    run: Run | None
    is_ordered: bool
    """Whether it must keep its place among others with resources or side effects."""
    key: Hashable | None = None
    """What it computes, for finding nodes that compute the same."""


class Tracer:
    """Builds one program, and records the variables that it treats as constants and unsupported nodes."""

    def __init__(
        self,
        state: State,
        engine: Engine,
        *,
        bake: bool = True,
        implementations: OpImplementations = BUILT_IN,
        recorded_ranks: bool = True,
        limits: RunLimits = NO_LIMITS,
        hosted: HostedSteps | None = None,
    ) -> None:
        """`recorded_ranks`: whether the ranks in the file hold; not if an input has another shape.

        `hosted`: where steps without ONNX nodes are added, if each is to be a node (`hosted`).
        """
        self.recorded_ranks = recorded_ranks
        self.state, self.engine, self.bake, self.implementations = state, engine, bake, implementations
        self.limits, self.hosted = limits, hosted
        self.steps: list[Step] = []
        self.baked: set[Variable] = set()
        self.unsupported: list[UnsupportedNode] = []
        self.lists: dict[Operand, ListFacts] = {}
        """What is known about tensor lists; see `value_facts`."""
        self.facts = ValueFacts()
        self.common: dict[Hashable, Sequence[Operand]] = {}
        """The outputs of the steps of this program, by what they compute."""
        self._constants = EqualConstants()
        self.traced: dict[Operand, TracedStep] = {}
        """What computes an operand, for recognizing what several nodes compute together."""
        self.counters: set[Operand] = set()
        """Loop counters, which are never negative."""
        self.relied_on: set[Operand] = set()
        """The counters of which a lowering relies on that."""
        self._depth = 0
        self._calls = ""
        """The calls around the nodes that are traced now: names of nodes and functions."""
        self._ops: dict[str, TracedOp] = {}
        self._control: dict[Graph, ControlUnits | None] = {}

    def program(self, args: list[Operand], walk_through: Callable[[], list[Operand]]) -> Program:
        """The steps that `walk_through` adds, as a separate program."""
        around, self.steps = (self.steps, self.common), []
        self.common = {}  # a step outside must not read what is computed inside
        try:
            results = walk_through()
        finally:
            steps = self.steps
            self.steps, self.common = around
        return Program(args, needed(steps, results), results)

    def region(
        self,
        ends: Iterable[Node],
        env: Env,
        bindings: CallAttrs | None = None,
        inside: Container[Node] | None = None,
    ) -> None:
        """Trace the nodes that `ends` need and `env` does not have; with `inside`, only nodes in it."""
        roots = list(ends)
        control = self.control_units(roots)
        for node in walk(roots, env, inside, control.units if control is not None else None):
            if isinstance(node, Node):
                self._node(node, env, bindings or {})
            else:
                before = len(self.steps)
                node.trace(self, env, bindings or {})
                self._note_origins(before, roots[0].graph)

    def one_by_one(self, ends: Iterable[Node], env: Env, bindings: CallAttrs) -> None:
        """Trace the nodes that `ends` need and `env` does not have, none of them as part of a structure."""
        for node in walk(ends, env):
            assert isinstance(node, Node)
            self._node(node, env, bindings)

    def control_units(self, ends: Sequence[Node]) -> ControlUnits | None:
        """The TF1 branches and loops that `ends` need, and loops over repeated parts; None without any."""
        if not ends:
            return None
        graph = ends[0].graph
        if graph not in self._control:
            ops = [op for op in CONTROL_UNITS.names() if graph.has_any((op,))]
            finders = CONTROL_UNITS.of(ops[0]) if ops else []
            self._control[graph] = finders[0](reached(ends), ends) if finders else None
        return self._control[graph]

    def values(self, value: Value, env: Env, bindings: CallAttrs) -> list[Operand]:
        """The operands of a value; several for a list argument of a generic function."""
        operand = env.get(value) if value.is_placed else None
        if operand is not None:
            return [operand]
        node, port = value.node, value.port
        signature = self.signature_of(node)
        if isinstance(node, Argument):
            return [env[node.output(i)] for i in range(node.count(bindings) or 0)]
        if signature is None and any(unsupported.node is node for unsupported in self.unsupported):
            return [Operand(FLOAT32)]  # an unknown op, which is reported after planning
        if port is None or signature is None:
            raise MalformedGraph(f"the graph has no tensor `{value}`")
        attrs = substitute(node.attrs, bindings)
        first = signature.index_of(port[0], max(port[1], 0), attrs)
        count = (signature.length_of(port[0], attrs) or 0) if port[1] == WHOLE else 1
        if first is None or any(node.output(first + i) not in env for i in range(count)):
            raise MalformedGraph(f"the graph has no tensor `{value}`")
        return [env[node.output(first + i)] for i in range(count)]

    def call(self, function: Function, inputs: Sequence[Operand], bindings: CallAttrs) -> list[Operand]:
        """Inline a call; the outputs of the function."""
        if (scope := current_scope()) is not None:
            scope.stop.check()  # functions that call others twice, and so on, take for ever
        if self._depth > MAX_CALL_DEPTH:
            raise CannotRun(f"{function.name} is recursive: calls are nested deeper than {MAX_CALL_DEPTH}")
        attrs = {**function.signature.defaults, **function.attrs, **bindings}
        args = [arg.output(i) for arg in function.args.values() for i in range(arg.count(attrs) or 0)]
        if len(args) != len(inputs):
            raise MalformedGraph(f"{function.name} takes {len(args)} tensors, got {len(inputs)}")
        env = dict(zip(args, inputs, strict=True))
        self._depth += 1
        try:
            with self._inside(function.name):
                self.region(required_nodes(function), env, attrs)
            return [
                o for end in function.returns.values() for v in end.inputs for o in self.values(v, env, attrs)
            ]
        finally:
            self._depth -= 1

    @contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        """Nodes that are traced now are in a call by the node, or of the function, of this name."""
        around = self._calls
        self._calls = f"{around}{name}/"
        try:
            yield
        finally:
            self._calls = around

    def add(self, step: Step) -> tuple[Operand, ...]:
        """Append a step; its outputs."""
        self.steps.append(step)
        return step.outputs

    def read_variable(self, handle: Operand, name: str, dtype: DType) -> Operand:
        """The value of a variable: a constant, unless something assigns to it."""
        variable = handle.value
        if (
            self.bake
            and isinstance(variable, Variable)
            and variable.value is not None
            and not variable.changes
        ):
            self.baked.add(variable)
            self.state.baked.add(variable)  # before the read: a later assignment invalidates the plan
            return Operand(dtype, value=variable.value, name=name)
        shape = variable.shape if isinstance(variable, Variable) else None
        out = Operand(dtype, shape, name=name)
        step = Step(name, "ReadVariableOp", (handle,), (out,), run=lambda inputs: [inputs[0].read()])
        if self.hosted is not None:
            step.lowered = [hosted_node(step, self.hosted)]
        self.add(step)
        return out

    def producer(self, operand: Operand, *ops: str) -> Step | None:
        """The step of a node of one of these ops that computes an operand, in this program or around it."""
        traced = self.traced.get(operand)
        return traced.step if traced is not None and traced.step.op in ops else None

    def signature_of(self, node: Node) -> OpSignature | None:
        """The signature of a node's op, as a custom op or as TensorFlow defines it."""
        return self._op(node.op).custom_signature or node.signature

    def _op(self, op: str) -> TracedOp:
        traced_op = self._ops.get(op)
        if traced_op is None:
            traced_op = self._ops[op] = TracedOp.of(op, self.implementations)
        return traced_op

    def plain(self, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> Sequence[Operand]:
        """Add the step of a node as if its op were not a structure op."""
        signature = self.signature_of(node)
        assert signature is not None
        return self._step(node, inputs, attrs, signature)

    def _node(self, node: Node, env: Env, bindings: CallAttrs) -> None:
        if node.op in ("_Retval", "_ControlReturn"):
            return
        constant, equal = self._constants.find(node) if node.op == CONST else (None, None)
        if equal is not None:
            env[node.output(0)] = equal
            return
        attrs = substitute(node.attrs, bindings) if bindings else node.attrs
        signature = self.signature_of(node)
        if signature is not None:
            attrs = {**signature.defaults, **upgraded_attrs(attrs, signature)}
        inputs = [operand for value in node.inputs for operand in self.values(value, env, bindings)]
        try:
            outputs = self._outputs(node, inputs, attrs, signature)
        except PLANNING as error:
            types = [operand.dtype for operand in inputs]
            definition = self.implementations.definition_of(node.op)
            raise planning_error(error, node.name, node.op, definition, attrs, types) from error
        if constant is not None:
            self._constants.record(constant, outputs[0])
        for i, operand in enumerate(outputs):
            env[node.output(i)] = operand

    def _outputs(
        self, node: Node, inputs: list[Operand], attrs: dict[str, Attr], signature: OpSignature | None
    ) -> Sequence[Operand]:
        called = callee(node)
        if called is not None:
            with self._inside(node.name):
                return self.call(called, inputs, substitute(call_attrs(node), attrs))
        if signature is None:
            self.unsupported.append(UnsupportedNode(node, unknown_op(node.op)))
            return [Operand(FLOAT32) for _ in node.outputs]
        inputs = self._dereferenced(node, inputs, signature)
        op = self._op(node.op)
        if op.custom_signature is not None and (
            wrong := self.implementations.mismatches(node.op, attrs, [operand.dtype for operand in inputs])
        ):
            self.unsupported.append(UnsupportedNode(node, "; ".join(wrong)))
            return self._placeholders(signature, attrs)
        if op.structure is not None:
            before, around = len(self.steps), self._calls
            self._calls = f"{around}{node.name}/"
            try:
                outputs: Sequence[Operand] = op.structure.function(self, node, inputs, attrs)
                self._note_origins(before, node)
            except CannotRun as error:
                self.unsupported.append(UnsupportedNode(node, str(error)))
                return self._placeholders(signature, attrs)
            finally:
                self._calls = around
            return outputs
        return self._step(node, inputs, attrs, signature)

    def _placeholders(self, signature: OpSignature, attrs: CallAttrs) -> list[Operand]:
        """Placeholders for the outputs of an unsupported node, so that tracing can go on."""
        count = signature.output_count(attrs) or 0
        return [Operand(signature.output_type(i, attrs)) for i in range(count)]

    def _dereferenced(self, node: Node, inputs: list[Operand], signature: OpSignature) -> list[Operand]:
        """Read the TF1 variables among the inputs, except where the op takes the variable itself."""
        if not any(operand.dtype.is_ref for operand in inputs):
            return inputs
        takes_ref = [arg.is_ref for arg in signature.inputs if not arg.is_list]
        return [
            self.read_variable(operand, node.name, operand.dtype.base)
            if operand.dtype.is_ref and not (i < len(takes_ref) and takes_ref[i])
            else operand
            for i, operand in enumerate(inputs)
        ]

    def _step(
        self, node: Node, inputs: list[Operand], attrs: dict[str, Attr], signature: OpSignature
    ) -> Sequence[Operand]:
        types = signature.output_types(attrs)
        groups = group_inputs(inputs, attrs, signature)
        context = Context(self.state, node.name, node.op, types, self._calls)
        kernel = self._op(node.op).kernel_for(attrs)
        run: Run | None = None
        if kernel is not None:
            try:
                run = host_run(kernel, groups, kernel_arguments(kernel, node, attrs, signature), context)
            except CannotRun as error:
                self.unsupported.append(UnsupportedNode(node, str(error)))
        if run is not None and self.limits.max_bytes:
            run = with_checked_size(run, node.name, node.op, attrs, types)
        ordered = is_ordered(node.op, signature, inputs, kernel)
        to_trace = NodeToTrace(node.name, node.op, inputs, attrs, types, run, ordered)
        if (known := run_node_passes(self, to_trace)) is not None:
            if (recorder := current_recorder()) is not None:
                recorder.origins.add_folded(node)
            return known
        lowered = self._lowered(NodeLowering(node, groups, attrs, signature, types), ordered)
        nodes = lowered.nodes if isinstance(lowered, LoweredNode) else None
        why = "" if isinstance(lowered, LoweredNode) else lowered
        if nodes is None and run is None and not any(other.node is node for other in self.unsupported):
            self.unsupported.append(
                UnsupportedNode(node, missing_kernel(self.implementations, node.op, attrs, why))
            )
        if isinstance(lowered, LoweredNode):
            outputs = lowered.outputs
        else:
            shapes = self._shapes(node, inputs, attrs, len(types))
            if run is not None and kernel is not None and kernel.strict:
                run = with_checked_shapes(run, shapes, node.name, node.op)
            outputs = [Operand(t, s, name=node.name) for t, s in zip(types, shapes, strict=True)]
        if self.recorded_ranks:
            _use_recorded_ranks(node, outputs)
        effect = ordered and node.op not in READS and not is_unseeded(attrs)
        ends = tuple(inputs), tuple(outputs)
        step = Step(node.name, node.op, *ends, nodes, run, effect, why, attrs=attrs, calls=self._calls)
        if nodes is None and run is not None and self.hosted is not None:
            step.lowered = [hosted_node(step, self.hosted)]
        self.traced.update(dict.fromkeys(self.add(step), TracedStep(node, step)))
        if (recorder := current_recorder()) is not None:
            recorder.origins.add(node, step)
        if to_trace.key is not None:
            self.common[to_trace.key] = tuple(outputs)
        if len(outputs) == 1:
            self.facts.record(node.op, inputs, outputs[0])
        return outputs

    def _note_origins(self, before: int, source: Node | Graph) -> None:
        """Tell a recorder the node of new steps: of one node, or nodes of a graph by their names."""
        if (recorder := current_recorder()) is not None:
            for step in self.steps[before:]:
                node = source if isinstance(source, Node) else source.find(step.name)
                if node is not None:
                    recorder.origins.add(node, step)

    def _lowered(self, lowering: NodeLowering, ordered: bool) -> LoweredNode | str:
        if ordered:
            has_lowering = self.implementations.lowerings_of(lowering.node.op)
            return "it uses a resource or has an effect" if has_lowering else NeverLowered.NO_ONNX_OP
        if self.hosted is not None and self.hosted.takes(lowering.node):
            return "its ONNX nodes cannot be translated"
        try:
            return lowering.try_all(self.implementations, self.engine)
        except CannotRun as error:
            self.unsupported.append(UnsupportedNode(lowering.node, str(error)))
            return ""

    def _shapes(self, node: Node, inputs: list[Operand], attrs: CallAttrs, count: int) -> list[Dims | None]:
        rule = self.implementations.shapes_of(node.op)
        if rule is None:
            own = self.implementations.definition_of(node.op) is None
            return host_shapes(node.op, inputs, attrs, count) if own else [None] * count
        try:
            return rule(inputs, attrs)
        except CannotRun as error:
            self.unsupported.append(UnsupportedNode(node, str(error)))
            return [None] * count


def _use_recorded_ranks(node: Node, outputs: Sequence[Operand]) -> None:
    """Take ranks from the shapes that the file records, where nothing else determines them."""
    for i, output in enumerate(outputs):
        recorded = node.output_shape(i) if output.shape is None else UNKNOWN
        if recorded.dims is not None:
            output.shape = (None,) * len(recorded.dims)
