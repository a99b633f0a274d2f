"""Run a model: restore its variables, initialize its tables, then compute fetches from feeds.

    session = Session(model)
    session.run(["y:0"], {"x:0": array})
    session.signature("serving_default")(x=array)
    session.run(["y:0"], feeds, timeout=5, stop=StopSignal())           ends early: `bounds`
    Session(model, limits=RunLimits(max_bytes=2**30))
    Session(model, registry=registry, stubs={"Acme>Op": function})      custom ops: `custom`

A plan is made for each set of fetches and feeds when it is first needed, and cached. Any thread
may call `run`.

Fed values must have the shape that their tensor declares, as in `tf.compat.v1.Session.run`: another
shape is nearly always a mistake. TensorFlow's C++ session, and so TensorFlow Serving, does not look at
declared shapes: the ops decide. With `any_shape`, `run` does the same; the plan for such a feed assumes
only its rank, as nothing that the file says about shapes holds any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error, MalformedGraph, RunFailed
from tfport.formats.find import ModelSource, find_model
from tfport.formats.saved_model.read import ASSETS
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.graph.load import load_model
from tfport.graph.model import Model, Signature
from tfport.graph.shapes import Shape
from tfport.graph.state import assets
from tfport.runtime.bounds.run_scope import NO_LIMITS, RunLimits, bounded
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.custom.stub import Stubs, with_stubs
from tfport.runtime.engines.engine import Engine, EngineFailed, make_engine
from tfport.runtime.engines.no_engine import NoEngine
from tfport.runtime.fed_values import MAX_VARIANTS, FedValue, special_value
from tfport.runtime.feeds import as_array
from tfport.runtime.object_restore import restore_from_objects
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import Program
from tfport.runtime.restore_checks import check_restorable, unset_error, unset_variables
from tfport.runtime.state import State, Variable
from tfport.runtime.trace import Env, Tracer
from tfport.runtime.unsupported import raise_unsupported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Feeds = Mapping[str, "ArrayLike"]
Assumed = int | FedValue | None
"""What a plan assumes of a fed tensor: its rank, its value, or only what the graph declares."""
Key = tuple[tuple[str, ...], tuple[tuple[str, Assumed], ...]]
MAX_PLANS = 256
MAX_RANKED_PLANS = 16
"""Maximum number of plans for ranks that callers chose: each plan may have its own copy of the weights."""


class Session:
    """A model that is ready to run."""

    def __init__(
        self,
        model: Model | ModelSource,
        *,
        threads: int | None = None,
        engine: str | Engine = "onnxruntime",
        registry: Registry | None = None,
        stubs: Stubs | None = None,
        limits: RunLimits = NO_LIMITS,
    ) -> None:
        self.limits = limits
        self.registry = with_stubs(ready(registry), stubs)
        definitions = definitions_with(self.registry)
        self.model = model if isinstance(model, Model) else load_model(find_model(model), definitions)
        self.state = State(self.model)
        self.engine = (
            make_engine(engine, threads, max_bytes=limits.max_bytes) if isinstance(engine, str) else engine
        )
        self._plans: dict[Key, tuple[Plan, int]] = {}
        self._variants: dict[tuple[tuple[str, ...], tuple[str, ...]], set[tuple[FedValue | None, ...]]] = {}
        self._lock = threading.RLock()
        self._initialize()
        self._unset = self._without_values()

    def run(
        self,
        fetches: str | Sequence[str],
        feeds: Feeds | None = None,
        *,
        any_shape: bool = False,
        timeout: float | None = None,
        stop: StopSignal | None = None,
    ) -> Any:
        """Compute tensors by name, `y:0`. A node's name alone runs the node and returns None.

        With `any_shape`, fed values need not have the shapes that the model declares. The run ends with
        RunStopped after `timeout` seconds, or when `stop` is set by another thread.
        """
        limits = self.limits
        if timeout is None and stop is None and not limits.max_bytes and not limits.max_seconds:
            return self._run(fetches, feeds, any_shape)
        seconds = min((s for s in (timeout, limits.max_seconds or None) if s is not None), default=None)
        with bounded(stop, seconds, limits):
            return self._run(fetches, feeds, any_shape)

    def _run(self, fetches: str | Sequence[str], feeds: Feeds | None, any_shape: bool) -> Any:
        names = (fetches,) if isinstance(fetches, str) else tuple(fetches)
        arrays = {_tensor_name(name): value for name, value in (feeds or {}).items()}
        inputs = [self._fed(name, value, any_shape) for name, value in arrays.items()]
        assumed = self._assumptions(names, list(arrays), inputs)
        plan = self._plan(names, list(arrays), assumed)
        try:
            outputs = iter(plan.run(_unassumed(inputs, assumed)))
        except EngineFailed as error:
            outputs = iter(self._run_on_host(names, list(arrays), inputs, error))
        results = [next(outputs) if ":" in name else None for name in names]
        return results[0] if isinstance(fetches, str) else results

    def _run_on_host(
        self, fetches: tuple[str, ...], feeds: list[str], inputs: list[NDArray[Any]], error: EngineFailed
    ) -> list[Any]:
        """Repeat a run that the engine refused: TensorFlow's answer, or its error with the name of the node.

        A run with effects is not repeated, as some of them have happened.
        """
        ranks = self._ranks(feeds, inputs)
        tensors = [self._value(name) for name in fetches if ":" in name]
        ends = [self._node(name) for name in fetches]
        program, tracer = self._trace(ends, tensors, feeds, ranks, True, NoEngine())
        if tracer.unsupported or any(step.effect for step in program.steps):
            raise error
        return Plan(program, NoEngine()).run(inputs)

    def signature(self, name: str) -> Callable[..., dict[str, NDArray[Any]]]:
        """A function from the named inputs of a signature to its named outputs."""
        signature = self.model.signatures.get(name)
        if signature is None:
            existing = ", ".join(self.model.signatures) or "none"
            raise Error(f"{self.model.where}: no signature `{name}`; signatures: {existing}")
        if unset := [v for v in self._unset.get(name, ()) if not self.state.is_set(v)]:
            raise unset_error(self.model, unset)
        return lambda **inputs: self._call(signature, inputs)

    def prepare(self, name: str) -> None:
        """Make the plan of a signature in advance, unless the rank of an input is unknown."""
        signature = self.model.signatures[name]
        feeds = [tensor for spec in signature.inputs.values() for tensor in spec.tensors]
        fetches = tuple(tensor for spec in signature.outputs.values() for tensor in spec.tensors)
        shapes = [self._value(tensor).shape.dims for tensor in feeds]
        if None not in shapes:
            self._plan(fetches, feeds, [None] * len(feeds))

    def _call(self, signature: Signature, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        from tfport.runtime.composite import flatten_inputs, pack_outputs

        feeds = flatten_inputs(signature, inputs)
        fetches = [name for spec in signature.outputs.values() for name in spec.tensors]
        return pack_outputs(signature, self.run(fetches, feeds))

    def program(self, fetches: Sequence[str], feeds: Sequence[str], *, bake: bool = True) -> Program:
        """The program for these fetches and feeds, before it is cut into islands."""
        return self._traced(fetches, feeds, [None] * len(feeds), bake=bake)[0]

    def _plan(self, fetches: tuple[str, ...], feeds: list[str], assumed: Sequence[Assumed]) -> Plan:
        key = (fetches, tuple(zip(feeds, assumed, strict=True)))
        cached = self._plans.get(key)
        if cached is not None and cached[1] == self.state.version:
            return cached[0]
        with self._lock:
            cached = self._plans.get(key)
            if cached is None or cached[1] != self.state.version:
                self._make_room(key)
                program, version = self._traced(fetches, feeds, assumed)
                cached = self._plans[key] = (Plan(program, self.engine), version)
                self._release_checkpoint()
        return cached[0]

    def _assumptions(
        self, fetches: tuple[str, ...], feeds: Sequence[str], inputs: Sequence[NDArray[Any]]
    ) -> list[Assumed]:
        """What to plan for: values of switches, and ranks that the tensors do not declare."""
        ranks = self._ranks(feeds, inputs)
        values = [
            special_value(self._value(name).shape.dims, a) for name, a in zip(feeds, inputs, strict=True)
        ]
        variants = self._variants.setdefault((fetches, tuple(feeds)), set())
        if tuple(values) not in variants:
            if len(variants) >= MAX_VARIANTS:
                return list(ranks)
            variants.add(tuple(values))
        return [value or rank for value, rank in zip(values, ranks, strict=True)]

    def _ranks(self, feeds: Sequence[str], inputs: Sequence[NDArray[Any]]) -> list[int | None]:
        """The ranks of the inputs to plan for; None for an input that has the shape its tensor declares."""
        shapes = [self._value(name).shape for name in feeds]
        return [
            None if shape.dims is not None and shape.fits(Shape(array.shape)) else array.ndim
            for shape, array in zip(shapes, inputs, strict=True)
        ]

    def _make_room(self, key: Key) -> None:
        """Drop plans if there are too many for another one."""
        ranked = [other for other in self._plans if _has_ranks(other)]
        if _has_ranks(key) and key not in self._plans and len(ranked) >= MAX_RANKED_PLANS:
            del self._plans[ranked[0]]
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()

    def _traced(
        self, fetches: Sequence[str], feeds: Sequence[str], assumed: Sequence[Assumed], *, bake: bool = True
    ) -> tuple[Program, int]:
        tensors = [self._value(name) for name in fetches if ":" in name]
        ends = [self._node(name) for name in fetches]
        for _ in range(len(self.model.graph) + 2):
            version = self.state.version
            program, tracer = self._trace(ends, tensors, feeds, assumed, bake)
            raise_unsupported(tracer.unsupported, self.model.where)
            assigned = _assigned(program) & tracer.baked
            if not assigned:
                return program, version
            for variable in assigned:
                variable.changes = True
        raise MalformedGraph(
            f"{self.model.where}: planning did not converge: "
            "every plan assigns to variables that it treated as constants"
        )

    def _trace(
        self,
        ends: Sequence[Node],
        tensors: Sequence[Value],
        feeds: Sequence[str],
        assumed: Sequence[Assumed],
        bake: bool,
        engine: Engine | None = None,
    ) -> tuple[Program, Tracer]:
        values = [self._value(name) for name in feeds]
        tracer = Tracer(
            self.state,
            engine or self.engine,
            bake=bake,
            implementations=self.registry,
            recorded_ranks=all(
                v.shape.dims is None for v, a in zip(values, assumed, strict=True) if isinstance(a, int)
            ),
            limits=self.limits,
        )
        args = [self._argument(value, fact) for value, fact in zip(values, assumed, strict=True)]
        env = dict(zip(values, args, strict=True))

        def walk() -> list[Operand]:
            tracer.region([end for end in ends if not any(v in env for v in end.outputs)], env)
            return [self._read(tracer, value, env) for value in tensors]

        return tracer.program(_unassumed(args, assumed), walk), tracer

    def _argument(self, value: Value, assumed: Assumed) -> Operand:
        if isinstance(assumed, FedValue):
            constant = np.array(assumed.value, self._type(value).numpy)
            return Operand(self._type(value), value=constant, name=value.node.name)
        dims = value.shape.dims if assumed is None else (None,) * assumed
        return Operand(self._type(value), dims, name=value.node.name)

    def _read(self, tracer: Tracer, value: Value, env: Env) -> Operand:
        operand = env.get(value)
        if operand is None:
            raise MalformedGraph(f"`{value.node.name}` ({value.node.op}) has no output {value.index}")
        return (
            tracer.read_variable(operand, operand.name, operand.dtype.base)
            if operand.dtype.is_ref
            else operand
        )

    def _initialize(self) -> None:
        """Restore and initialize as TensorFlow's own loader does: the restore op, then the init op."""
        saver, prefix = self.model.meta.saver_def, self.model.checkpoint_prefix
        files = {asset.tensor: f"{ASSETS}/{asset.file}" for asset in assets(self.model)}
        if self.model.restore_nodes and prefix is not None and self.model.checkpoint is not None:
            check_restorable(self.model)
            self._run_once(self.model.restore_nodes, {**files, saver.filename_tensor_name: prefix})
            restore_from_objects(self.model, self.state)
        self._run_once(self.model.init_nodes, files)
        self._release_checkpoint()

    def _without_values(self) -> dict[str, list[str]]:
        """The signatures that read variables without a value; an error if no other signature is left."""
        signatures = self.model.signatures
        unset = {name: unset_variables(self.model, self.state, s) for name, s in signatures.items()}
        if unset and all(unset.values()):
            raise unset_error(self.model, sorted({v for names in unset.values() for v in names}))
        return unset

    def _release_checkpoint(self) -> None:
        """Free what was read of the checkpoint: the engine has its copy, and the rest is read again."""
        if self.model.checkpoint_prefix is not None and self.model.checkpoint is not None:
            self.model.checkpoint.release_memory()

    def _run_once(self, ends: Sequence[Node], texts: Mapping[str, str]) -> None:
        if not ends:
            return
        feeds = [_tensor_name(name) for name in texts if name and self.model.has_tensor(_tensor_name(name))]
        program, tracer = self._trace(ends, [], feeds, [None] * len(feeds), bake=False)
        raise_unsupported(tracer.unsupported, self.model.where)
        by_name = {_tensor_name(name): text for name, text in texts.items() if name}
        Plan(program, self.engine).run([_string(by_name[name]) for name in feeds])

    def _value(self, name: str) -> Value:
        return self.model.graph.value(name)

    def _node(self, name: str) -> Node:
        node = self.model.graph.find(name.partition(":")[0])
        if node is None:
            raise MalformedGraph(f"the graph has no node `{name}`")
        return node

    def _type(self, value: Value) -> DType:
        """The type of a tensor's elements; for an output of a custom op, as the registry defines it."""
        signature = self.registry.signature_of(value.node.op)
        return (signature.output_type(value.index, value.node.attrs) if signature else value.dtype).base

    def _fed(self, name: str, value: ArrayLike, any_shape: bool) -> NDArray[Any]:
        """The fed value as an array of the tensor's type; RunFailed where type or shape do not match."""
        tensor = self._value(name)
        array = as_array(value, self._type(tensor), name)
        shape = tensor.shape
        if not any_shape and not shape.fits(Shape(array.shape)):
            raise RunFailed(f"`{name}` must have shape {shape}, got {Shape(array.shape)}")
        return array


def _unassumed(items: Sequence[Any], assumed: Sequence[Assumed]) -> list[Any]:
    """The items of the fed tensors whose values a plan does not assume."""
    return [item for item, fact in zip(items, assumed, strict=True) if not isinstance(fact, FedValue)]


def _string(text: str) -> NDArray[Any]:
    out = np.empty((), object)
    out[()] = text.encode()
    return out


def _has_ranks(key: Key) -> bool:
    """Whether a plan is for ranks that the caller chose."""
    return any(isinstance(assumed, int) for _, assumed in key[1])


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _assigned(program: Program) -> set[Variable]:
    """The variables that a program may assign to."""
    variables: set[Variable] = set()
    for step in program.steps:
        if step.effect:
            variables |= {o.value for o in step.inputs if isinstance(o.value, Variable)}
        for inner in step.programs:
            variables |= _assigned(inner)
    return variables
