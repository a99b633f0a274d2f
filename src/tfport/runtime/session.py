"""Run a model: restore its variables, initialize its tables, then compute fetches from feeds.

    session = Session(model)
    session.run(["y:0"], {"x:0": array})
    session.signature("serving_default")(x=array)
    session.run(["y:0"], feeds, timeout=5, stop=StopSignal())           ends early: `bounds`
    Session(model, limits=RunLimits(max_bytes=2**30))
    Session(model, registry=registry, stubs={"Acme>Op": function})      custom ops: `custom`
    Session("export/1", cache=True)             plans are kept in files for later sessions: `stored`

A plan is made for each set of fetches and feeds when it is first needed, and cached. Any thread
may call `run`.

Fed values must have the shape that their tensor declares, as in `tf.compat.v1.Session.run`: another
shape is nearly always a mistake. TensorFlow's C++ session, and so TensorFlow Serving, does not look at
declared shapes: the ops decide. With `any_shape`, `run` does the same; the plan for such a feed assumes
only its rank, as nothing that the file says about shapes holds any more.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.engine_names import USUAL
from tfport.errors import Error
from tfport.formats.file_reader import FileReader
from tfport.formats.find import ModelSource, find_model
from tfport.formats.saved_model.read import ASSETS
from tfport.frontends.load import load_any_model
from tfport.graph.graph import Node
from tfport.graph.model import Model, Signature, checkpoint_files
from tfport.graph.state import assets
from tfport.runtime.bounds.run_scope import NO_LIMITS, RunLimits, bounded, current_scope
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.composite import signature_call
from tfport.runtime.custom.registry import Registry, definitions_with, ready
from tfport.runtime.engines.choice_cache import CPU, GPU, TENSORRT
from tfport.runtime.engines.engine import Engine, EngineFailed, IslandRejected, LiteFiles, NumbersRefused
from tfport.runtime.engines.gpu.device_array import all_on_host
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.engines.gpu.in_place import RepeatedCalls
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.engines.no_engine import NoEngine
from tfport.runtime.failures import raise_unsupported
from tfport.runtime.fed_tensor import FedTensor
from tfport.runtime.freed_memory import return_freed_memory
from tfport.runtime.hosted import HostedSteps
from tfport.runtime.model_tracer import ModelTracer
from tfport.runtime.placed_plan import PlacedPlan
from tfport.runtime.plan import Plan
from tfport.runtime.plan_cache import AnyPlan, PlanCache, PlanKey
from tfport.runtime.prepared_run import MAX_PREPARED, PreparedRun
from tfport.runtime.profile.recorder import current_recorder
from tfport.runtime.program import Program, only_asserts
from tfport.runtime.restore.object_restore import restore_from_objects
from tfport.runtime.restore.plain_restore import restore_plainly
from tfport.runtime.restore.restore_checks import check_restorable, unset_error, unset_variables
from tfport.runtime.select_signature import select_signature
from tfport.runtime.state import State
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tfport.runtime.custom.stub import Stubs
    from tfport.runtime.engines.litert.whole_file import WholeFile, WholeFilePlan
    from tfport.runtime.stored.stored_plans import StoredPlans

Feeds = Mapping[str, "ArrayLike"]


class Session:
    """A model that is ready to run."""

    def __init__(
        self,
        model: Model | ModelSource,
        *,
        threads: int | None = None,
        engine: str | Engine = USUAL,
        device: str = "cpu",
        gpu: GpuOptions = NO_GPU_OPTIONS,
        registry: Registry | None = None,
        stubs: Stubs | None = None,
        limits: RunLimits = NO_LIMITS,
        cache: bool = False,
    ) -> None:
        self.limits = limits
        self.registry = _with_stubs(ready(registry), stubs) if stubs else ready(registry)
        definitions = definitions_with(self.registry)
        reader = model.files.reader if isinstance(model, Model) else FileReader(keeps=True)
        reader.keep()  # TensorFlow answers with the weights that it loaded, whatever happens to their files
        with reader.unchanged():
            if not isinstance(model, Model):
                model = load_any_model(find_model(model, reader), definitions)
            self._load(model, threads, engine, device, gpu, cache)

    def __repr__(self) -> str:
        names = ", ".join(self.model.signatures) or "no signature"
        return f"<Session of {self.model.where}: {names}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the model."""
        return self.model._repr_html_()

    def _load(
        self,
        model: Model,
        threads: int | None,
        engine: str | Engine,
        device: str,
        gpu: GpuOptions,
        cache: bool,
    ) -> None:
        limits, self.model = self.limits, model
        model.require_graph()
        self.state = State(self.model)
        if isinstance(engine, str):
            engine = make_engine(engine, threads, max_bytes=limits.max_bytes, device=device, gpu=gpu)
        self.engine = engine
        on_cpu = engine if engine.rival is None else engine.rival.engine
        self._lite_files = on_cpu.lite_files if self.model.lite is not None else LiteFiles.NONE
        self.plans = PlanCache()
        self._tracer = ModelTracer(self.model, self.state, self.registry, limits)
        self._prepared: dict[tuple[tuple[str, ...], tuple[str, ...]], PreparedRun] = {}
        self._lock = threading.RLock()
        self._unset: dict[str, list[str]] = {}
        self._stored = _stored_plans(self) if cache else None
        self._is_initialized = False
        if self._stored is None or self._stored.is_empty:
            self._initialize()
        self._hold_files()

    def run(
        self,
        fetches: str | Sequence[str],
        feeds: Feeds | None = None,
        *,
        any_shape: bool = False,
        on_device: bool = False,
        timeout: float | None = None,
        stop: StopSignal | None = None,
        repeats: bool = True,
    ) -> Any:
        """Compute tensors by name, `y:0`. A node's name alone runs the node and returns None.

        With `any_shape`, fed values need not have the shapes that the model declares. With `on_device`,
        results of a GPU stay in its memory (`DeviceArray`). The run ends with RunStopped after `timeout`
        seconds, or when `stop` is set by another thread. The host repeats a run if the engine refuses numbers
        of the inputs; without `repeats`, it ends with NumbersRefused.
        """
        limits = self.limits
        if timeout is None and stop is None and not limits.max_bytes and not limits.max_seconds:
            return self._run(fetches, feeds, any_shape, on_device, repeats)
        seconds = min((s for s in (timeout, limits.max_seconds or None) if s is not None), default=None)
        with bounded(stop, seconds, limits):
            return self._run(fetches, feeds, any_shape, on_device, repeats)

    def _run(
        self,
        fetches: str | Sequence[str],
        feeds: Feeds | None,
        any_shape: bool,
        on_device: bool,
        repeats: bool,
    ) -> Any:
        names = (fetches,) if isinstance(fetches, str) else tuple(fetches)
        fed = feeds or {}
        prepared = self._prepared.get((names, tuple(fed)))
        if prepared is None:
            fed = {_tensor_name(name): value for name, value in fed.items()}
            prepared = self._prepare(names, tuple(fed))
        inputs = prepared.inputs(fed.values(), any_shape)
        key = prepared.key(inputs, any_shape)
        try:
            key, plan = self._plan(key)
            outputs = plan.run(prepared.unassumed(inputs, key), on_device=on_device)
        except IslandRejected as error:
            if key.ranks.count(None) == len(key.ranks):
                raise
            outputs = self._run_on_host(key, inputs, error)  # no op takes these ranks: the host says which
        except EngineFailed as error:
            if not repeats and isinstance(error, NumbersRefused):
                raise
            outputs = self._run_on_host(key, inputs, error)
        results = prepared.results(outputs)
        return results[0] if isinstance(fetches, str) else results

    def _run_on_host(self, key: PlanKey, inputs: list[NDArray[Any]], error: Error) -> list[Any]:
        """Repeat a run that the engine refused: TensorFlow's answer, or its error with the name of the node.

        A run with effects other than assertions is not repeated, as some of them have happened.
        """
        self._initialize()
        key, version = key.for_any_value()._replace(on_host=True), self.state.version
        plan = self.plans.get(key, version)
        if plan is None:
            program, tracer = self._tracer.trace(key.fetches, key.feeds, key.ranks, NoEngine())
            if tracer.unsupported or not only_asserts(program.steps):
                raise error
            plan = Plan(program, NoEngine())
            with self._lock:
                self.plans.add(key, plan, version)
        return plan.run(all_on_host(inputs))

    def signature(self, name: str | None = None) -> Callable[..., dict[str, NDArray[Any]]]:
        """A function from the inputs of a signature, by name or in their order, to its named outputs.

        Without a name: `serving_default`, or the only one.
        """
        signature = self.model.signatures.get(name) if name is not None else select_signature(self.model)
        if signature is None:
            existing = ", ".join(self.model.signatures) or "none"
            raise Error(f"{self.model.where}: no signature `{name}`; signatures: {existing}")
        if not self._has_stored(signature):
            self._initialize()
        if unset := [v for v in self._unset.get(signature.name, ()) if not self.state.is_set(v)]:
            raise unset_error(self.model, unset)
        return signature_call(signature, self.run)

    def bind(self, name: str, *, in_place: bool = False) -> Callable[..., dict[str, Any]]:
        """Like `signature`, with arrays that stay on the device.

        The inputs may be NumPy arrays, outputs of an earlier call, or arrays of PyTorch, JAX or CuPy in the
        memory of the GPU. The outputs are `DeviceArray`s, which those read through DLPack.

        With `in_place`, nothing is copied: the next call may overwrite the outputs. It is fastest if the
        inputs are the same arrays of the GPU in each call, filled anew.
        """
        self.signature(name)
        signature = self.model.signatures[name]
        call = signature_call(signature, self.run, on_device=True)
        return RepeatedCalls(call, self._unlimited_state) if in_place else call

    def _unlimited_state(self) -> int | None:
        """The version of the variables; None if a call has limits, is recorded, or may run elsewhere."""
        limits, free = self.limits, current_scope() is None and current_recorder() is None
        is_free = free and not limits.max_bytes and not limits.max_seconds and self.engine.rival is None
        return self.state.version if is_free else None

    def is_steady(self, signature: Signature) -> bool | None:
        """Whether only the shapes of the inputs decide how much a signature computes, by its plans.

        None before its first call.
        """
        plans = self.plans.made_for(signature)
        return all(plan.is_steady for plan in plans) if plans else None

    def prepare(self, name: str) -> None:
        """Make the plan of a signature in advance, unless the rank of an input is unknown."""
        key = PlanKey.of_signature(self.model.signatures[name])
        shapes = [self._tracer.value(tensor).shape.dims for tensor in key.feeds]
        if None not in shapes:
            self._plan(key, in_advance=True)

    def program(
        self,
        fetches: Sequence[str],
        feeds: Sequence[str],
        *,
        bake: bool = True,
        engine: Engine | None = None,
        hosted: HostedSteps | None = None,
    ) -> Program:
        """The program for these fetches and feeds, before it is cut into islands.

        `engine`: the one that decides what is lowered, if it is not that of the session. `hosted`: where
        steps without ONNX nodes are added, if each is to be a node (`runtime.hosted`).
        """
        self._initialize()
        known = [None] * len(feeds)
        engine = engine or self.engine
        return self._tracer.runnable(fetches, feeds, known, engine, bake=bake, hosted=hosted)[0]

    def _plan(self, key: PlanKey, *, in_advance: bool = False) -> tuple[PlanKey, AnyPlan]:
        """The plan to use for a key, and the key that it was made for."""
        plan = self.plans.get(key, self.state.version)
        if plan is not None:
            return key, plan
        with self._lock:
            key = self.plans.admitted(key)
            plan = self.plans.get(key, self.state.version)
            if plan is None:
                plan, version = self._stored_plan(key) or self._new_plan(key, in_advance)
                self.plans.add(key, plan, version)
                self.release_checkpoint()
                return_freed_memory()
        return key, plan

    def _new_plan(self, key: PlanKey, in_advance: bool) -> tuple[AnyPlan, int]:
        """A plan for a key, and the version of the state that it is for."""
        rival = self.engine.rival
        whole = self._whole_file(key) if self._lite_files is LiteFiles.ALL else None
        if rival is None and whole is not None:
            return whole, self.state.version
        self._initialize()
        engine = self.engine if rival is None else rival.engine
        program, version = self._tracer.runnable(key.fetches, key.feeds, key.assumed, engine)
        if self._lite_files is LiteFiles.ROBUST:
            whole = self._whole_file(key)  # what tfport refuses does not reach LiteRT
        if rival is None:
            return (whole or self._copied_plan(key, program, version, in_advance)), version

        traced = {CPU: program}  # kept only until the first plan is made

        engines = {CPU: rival.engine, GPU: self.engine, TENSORRT: rival.tensorrt or self.engine}

        def made_for(device: str) -> Plan | WholeFilePlan:
            if device == CPU and whole is not None:
                return whole
            engine = engines[device]
            with self._lock:
                program = traced.pop(device, None)
                if program is None:
                    program, _ = self._tracer.runnable(key.fetches, key.feeds, key.assumed, engine)
            return Plan(program, engine, release=self.release_checkpoint, in_advance=in_advance)

        if whole is not None:
            rival = replace(rival, settings=(*rival.settings, whole.name))
        plan = PlacedPlan(program, made_for, rival)
        traced.clear()
        return plan, version

    def _whole_file(self, key: PlanKey) -> WholeFilePlan | None:
        """A plan that hands an unchanged TensorFlow Lite file to LiteRT, if nothing else is asked.

        Its variables are where the first run of the session is computed.
        """
        file = self._lite_file
        if file is None:
            return None
        is_free = not key.is_special and current_recorder() is None
        plan = file.plan(key.fetches, key.feeds) if is_free else None
        if plan is None and file.has_state:
            if len(self.plans):
                raise Error(
                    f"{self.model.where}: LiteRT has the variables of this session and computes only outputs "
                    'of the file from all its inputs; for other tensors, use Session(…, engine="onnxruntime")'
                )
            self._lite_file = None
        return plan

    @functools.cached_property
    def _lite_file(self) -> WholeFile | None:
        """The unchanged TensorFlow Lite file, if LiteRT may run it."""
        if self._lite_files is LiteFiles.NONE:
            return None
        from tfport.runtime.engines.litert.whole_file import whole_file  # few models need it

        file = whole_file(self.model, self.engine.threads, self._lite_files)
        is_raced = file is not None and file.has_state and self.engine.rival is not None
        return None if is_raced else file  # variables cannot be on two devices

    def _stored_plan(self, key: PlanKey) -> tuple[AnyPlan, int] | None:
        """The plan that an earlier session stored, unless a variable was assigned to in this one."""
        if self._stored is None or not self._stored.has(key) or current_recorder() is not None:
            return None
        version = self.state.version
        self.state.baked.update(self.state.variables())  # a later assignment invalidates the plan
        if self._is_initialized and not self.state.as_restored:
            return None
        plan = self._stored.read(key)
        return None if plan is None else (plan, version)

    def _copied_plan(self, key: PlanKey, program: Program, version: int, in_advance: bool) -> Plan:
        """A plan that is stored while it is made, if sessions are to use it later."""
        make = functools.partial(
            Plan, program, self.engine, release=self.release_checkpoint, in_advance=in_advance
        )
        copy = self._stored.begin(key) if self._stored is not None else None
        try:
            plan = make(copy=copy)
        except Error:
            if copy is None:
                raise
            copy.discard()  # perhaps it could not be written
            copy = None
            plan = make()
        if self._stored is not None and copy is not None:
            if not self.state.as_restored or version != self.state.version:
                copy.record = None
            self._stored.finish(key, copy)
        return plan

    def _has_stored(self, signature: Signature) -> bool:
        return self._stored is not None and self._stored.has(PlanKey.of_signature(signature))

    def _initialize(self) -> None:
        """Restore and initialize the model, once; a session with stored plans does so when it needs to."""
        if self._is_initialized:
            return
        with self._lock:
            if not self._is_initialized:
                self._restore()
                self._unset = self._without_values()
                if len(self.plans):  # they are stored ones: an assignment invalidates them
                    self.state.baked.update(self.state.variables())
                self.state.as_restored = True
                self._is_initialized = True

    def _hold_files(self) -> None:
        """Keep the files that later runs may read, except variables: stored plans may have them."""
        model = self.model
        model.files.hold(f"{ASSETS}/{asset.file}" for asset in assets(model))
        if model.weights is not None:
            model.files.hold(name for group in model.weights.groups for name in group.paths)
        if not self._is_initialized:
            model.files.watch(self._checkpoint_files())

    def hold_variables(self) -> None:
        """Keep the files of variables that were not read yet, because stored plans have their values."""
        if not self._is_initialized:
            self.model.files.hold(self._checkpoint_files())

    def _checkpoint_files(self) -> list[str]:
        prefix = self.model.checkpoint_prefix
        return [] if prefix is None else [name for name, _ in checkpoint_files(self.model.files, prefix)]

    def _restore(self) -> None:
        """Restore and initialize as TensorFlow's own loader does: the restore op, then the init op."""
        saver, prefix = self.model.meta.saver_def, self.model.checkpoint_prefix
        files = {asset.tensor: f"{ASSETS}/{asset.file}" for asset in assets(self.model)}
        if self.model.restore_nodes and prefix is not None and self.model.checkpoint is not None:
            if not restore_plainly(self.model, self.state, self.registry):
                check_restorable(self.model)
                self._run_once(self.model.restore_nodes, {**files, saver.filename_tensor_name: prefix})
            restore_from_objects(self.model, self.state)
        self._run_once(self.model.init_nodes, files)
        self.release_checkpoint()

    def _without_values(self) -> dict[str, list[str]]:
        """The signatures that read variables without a value; an error if no other signature is left."""
        signatures = self.model.signatures
        unset = {name: unset_variables(self.model, self.state.is_set, s) for name, s in signatures.items()}
        if unset and all(unset.values()):
            raise unset_error(self.model, sorted({v for names in unset.values() for v in names}))
        return unset

    def release_checkpoint(self) -> None:
        """Free what was read of the checkpoint: the engine has its copy, and the rest is read again."""
        if self.model.checkpoint is not None:
            self.model.checkpoint.release_memory()

    def _run_once(self, ends: Sequence[Node], texts: Mapping[str, str]) -> None:
        if not ends:
            return
        feeds = [_tensor_name(name) for name in texts if name and self.model.has_tensor(_tensor_name(name))]
        names = [end.name for end in ends]
        program, tracer = self._tracer.trace(names, feeds, [None] * len(feeds), self.engine, bake=False)
        raise_unsupported(tracer.unsupported, self.model.where)
        by_name = {_tensor_name(name): text for name, text in texts.items() if name}
        Plan(program, self.engine).run([_string(by_name[name]) for name in feeds])

    def _prepare(self, fetches: tuple[str, ...], feeds: tuple[str, ...]) -> PreparedRun:
        """What runs of these fetches and feeds have in common."""
        prepared = self._prepared.get((fetches, feeds))
        if prepared is None:
            values = [self._tracer.value(name) for name in feeds]
            tensors = [
                FedTensor(n, self._tracer.dtype(v), v.shape) for n, v in zip(feeds, values, strict=True)
            ]
            prepared = PreparedRun(fetches, tensors)
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()
            self._prepared[fetches, feeds] = prepared
        return prepared


def _with_stubs(registry: Registry, stubs: Stubs) -> Registry:
    from tfport.runtime.custom.stub import with_stubs  # imported here: few sessions have any

    return with_stubs(registry, stubs)


def _stored_plans(session: Session) -> StoredPlans | None:
    from tfport.runtime.stored.stored_plans import stored_plans  # imported here: few sessions have any

    return stored_plans(session.model, session.engine, session.registry, session.limits)


def _string(text: str) -> NDArray[Any]:
    out = np.empty((), object)
    out[()] = text.encode()
    return out


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"
