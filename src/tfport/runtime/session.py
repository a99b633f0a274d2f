"""A model that answers: state restored and tables filled by the model's own ops, then runs of it.

    session = Session(model)
    session.run(["y:0"], {"x:0": array})
    session.signature("serving_default")(x=array)
    Session(model, registry=registry, stubs={"Acme>Op": function})      ops of one's own: `custom`

A plan is made for each set of fetches and feeds when it is first asked for. Runs may
come from any thread.
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
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.custom.stub import Stubs, with_stubs
from tfport.runtime.engines.engine import Engine, make_engine
from tfport.runtime.feeds import as_array
from tfport.runtime.object_restore import restore_from_objects
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import Program
from tfport.runtime.state import State, Variable
from tfport.runtime.trace import Env, Tracer
from tfport.runtime.unsupported import raise_unsupported

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Feeds = Mapping[str, "ArrayLike"]
Key = tuple[tuple[str, ...], tuple[tuple[str, int | None], ...]]
MOST_PLANS = 256


class Session:
    """One model, ready to run."""

    def __init__(
        self,
        model: Model | ModelSource,
        *,
        threads: int | None = None,
        engine: str | Engine = "onnxruntime",
        registry: Registry | None = None,
        stubs: Stubs | None = None,
    ) -> None:
        self.registry = with_stubs(ready(registry), stubs)
        definitions = definitions_with(self.registry)
        self.model = model if isinstance(model, Model) else load_model(find_model(model), definitions)
        self.state = State(self.model)
        self.engine = make_engine(engine, threads) if isinstance(engine, str) else engine
        self._plans: dict[Key, tuple[Plan, int]] = {}
        self._lock = threading.RLock()
        self._initialise()

    def run(self, fetches: str | Sequence[str], feeds: Feeds | None = None) -> Any:
        """The values of tensors by name, `y:0`; a node's name alone runs it and answers None."""
        names = (fetches,) if isinstance(fetches, str) else tuple(fetches)
        arrays = {_tensor_name(name): value for name, value in (feeds or {}).items()}
        given = [self._fed(name, value) for name, value in arrays.items()]
        plan = self._plan(names, list(arrays), given)
        answers = iter(plan.run(given))
        found = [next(answers) if ":" in name else None for name in names]
        return found[0] if isinstance(fetches, str) else found

    def signature(self, name: str) -> Callable[..., dict[str, NDArray[Any]]]:
        """A signature as a function of named arrays."""
        signature = self.model.signatures.get(name)
        if signature is None:
            there = ", ".join(self.model.signatures) or "none"
            raise Error(f"{self.model.where}: no signature `{name}`; there is {there}")
        return lambda **inputs: self._call(signature, inputs)

    def prepare(self, name: str) -> None:
        """Make the plan of a signature before it is called, unless an input may have any rank."""
        signature = self.model.signatures[name]
        feeds = [one for spec in signature.inputs.values() for one in spec.tensors]
        fetches = tuple(one for spec in signature.outputs.values() for one in spec.tensors)
        shapes = [self._value(one).shape.dims for one in feeds]
        if None not in shapes:
            self._plan(fetches, feeds, [np.empty((0,) * len(dims or ())) for dims in shapes])

    def _call(self, signature: Signature, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        from tfport.runtime.composite import flatten_inputs, pack_outputs

        feeds = flatten_inputs(signature, inputs)
        fetches = [name for spec in signature.outputs.values() for name in spec.tensors]
        return pack_outputs(signature, self.run(fetches, feeds))

    def program(self, fetches: Sequence[str], feeds: Sequence[str], *, bake: bool = True) -> Program:
        """What would run for these, before it is cut."""
        return self._traced(fetches, feeds, [None] * len(feeds), bake=bake)[0]

    def _plan(self, fetches: tuple[str, ...], feeds: list[str], given: Sequence[NDArray[Any]]) -> Plan:
        ranks = [
            None if self._value(name).shape.dims is not None else a.ndim
            for name, a in zip(feeds, given, strict=True)
        ]
        key = (fetches, tuple(zip(feeds, ranks, strict=True)))
        found = self._plans.get(key)
        if found is not None and found[1] == self.state.version:
            return found[0]
        with self._lock:
            found = self._plans.get(key)
            if found is None or found[1] != self.state.version:
                if len(self._plans) >= MOST_PLANS:
                    self._plans.clear()
                program, version = self._traced(fetches, feeds, ranks)
                found = self._plans[key] = (Plan(program, self.engine), version)
                self._let_go()
        return found[0]

    def _traced(
        self, fetches: Sequence[str], feeds: Sequence[str], ranks: Sequence[int | None], *, bake: bool = True
    ) -> tuple[Program, int]:
        wanted = [self._value(name) for name in fetches if ":" in name]
        ends = [self._node(name) for name in fetches]
        for _ in range(len(self.model.graph) + 2):
            version = self.state.version
            program, tracer = self._trace(ends, wanted, feeds, ranks, bake)
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
        wanted: Sequence[Value],
        feeds: Sequence[str],
        ranks: Sequence[int | None],
        bake: bool,
    ) -> tuple[Program, Tracer]:
        tracer = Tracer(self.state, self.engine, bake=bake, implementations=self.registry)
        args = [self._argument(self._value(name), rank) for name, rank in zip(feeds, ranks, strict=True)]
        env = {self._value(name): arg for name, arg in zip(feeds, args, strict=True)}

        def walk() -> list[Operand]:
            tracer.region([end for end in ends if not any(v in env for v in end.outputs)], env)
            return [self._read(tracer, value, env) for value in wanted]

        return tracer.program(args, walk), tracer

    def _argument(self, value: Value, rank: int | None) -> Operand:
        dims = value.shape.dims
        if dims is None and rank is not None:
            dims = (None,) * rank
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

    def _initialise(self) -> None:
        """Restore and initialise as TensorFlow's own loader does: the restore op, then the init op."""
        saver, prefix = self.model.meta.saver_def, self.model.checkpoint_prefix
        files = {asset.tensor: f"{ASSETS}/{asset.file}" for asset in assets(self.model)}
        if self.model.restore_nodes and prefix is not None and self.model.checkpoint is not None:
            self._run_once(self.model.restore_nodes, {**files, saver.filename_tensor_name: prefix})
            restore_from_objects(self.model, self.state)
        self._run_once(self.model.init_nodes, files)
        self._let_go()

    def _let_go(self) -> None:
        """What was read of the checkpoint is with the engine now, or will be read again."""
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
            raise MalformedGraph(f"there is no node `{name}` in the graph")
        return node

    def _type(self, value: Value) -> DType:
        """The type of a tensor's elements; of an op of one's own the registry tells it."""
        signature = self.registry.signature_of(value.node.op)
        return (signature.output_type(value.index, value.node.attrs) if signature else value.dtype).base

    def _fed(self, name: str, value: ArrayLike) -> NDArray[Any]:
        """The fed value as an array of the tensor's type; RunFailed where type or shape do not match."""
        tensor = self._value(name)
        array = as_array(value, self._type(tensor), name)
        shape = tensor.shape
        if not shape.fits(Shape(array.shape)):
            raise RunFailed(f"`{name}` must have shape {shape}, got {Shape(array.shape)}")
        return array


def _string(text: str) -> NDArray[Any]:
    out = np.empty((), object)
    out[()] = text.encode()
    return out


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _assigned(program: Program) -> set[Variable]:
    """The variables that a program may assign to."""
    found: set[Variable] = set()
    for step in program.steps:
        if step.effect:
            found |= {o.value for o in step.inputs if isinstance(o.value, Variable)}
        for inner in step.programs:
            found |= _assigned(inner)
    return found
