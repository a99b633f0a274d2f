"""An island that two engines compute together: its shares run one after another (`island_parts`).

The caller gives ordinary inputs (`same_answers`). The other engine gets only such numbers from other shares,
in the sizes of the first run, and only ordinary answers of it are used. Otherwise the run fails with
`EngineFailed`, and the caller has the usual engine compute all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.engine import Compiled, Engine, EngineFailed, IslandHints
from tfport.runtime.engines.same_answers import are_ordinary
from tfport.runtime.passes.islands.island_parts import Share


class _Stage(NamedTuple):
    run: Compiled
    reads: list[str]
    writes: list[str]


def shared_island(
    shares: Sequence[Share], inputs: Sequence[str], outputs: Sequence[str], usual: Engine, other: Engine
) -> Compiled:
    """The shares as one function of ordinary inputs. Its first run compiles those of the other engine."""
    stages = [_stage(share, usual, other, frozenset(inputs)) for share in shares]

    def run(arrays: Sequence[Any]) -> Sequence[Any]:
        values = dict(zip(inputs, arrays, strict=True))
        for stage in stages:
            results = stage.run([values[name] for name in stage.reads])
            values.update(zip(stage.writes, results, strict=True))
        return [values[name] for name in outputs]

    return run


def _stage(share: Share, usual: Engine, other: Engine, ordinary: frozenset[str]) -> _Stage:
    model = share.part.model
    graph = model.model.graph
    reads, writes = [value.name for value in graph.input], [value.name for value in graph.output]
    if share.elsewhere:
        return _Stage(_OtherShare(share, other, reads, writes, ordinary), reads, writes)
    hints = IslandHints(share.least_size, alone=False, work=share.work)
    run = usual.compile(model.model.SerializeToString(), model.weights, reads, writes, hints)
    return _Stage(run, reads, writes)


class _OtherShare:
    """A share that the other engine computes, for the sizes of its first inputs."""

    def __init__(
        self, share: Share, engine: Engine, reads: list[str], writes: list[str], ordinary: frozenset[str]
    ) -> None:
        self._share: Share | None = share
        """None once it is compiled, as an engine has its own copy of the weights."""
        self._engine, self._reads, self._writes = engine, reads, writes
        self._computed = [index for index, name in enumerate(reads) if name not in ordinary]
        """Inputs that another share computes: those of the island are known to be ordinary."""
        self._sizes: list[tuple[int, ...]] = []
        self._run: Compiled | None = None

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        if not are_ordinary([arrays[index] for index in self._computed]):
            raise EngineFailed("numbers that are not ordinary")
        sizes = [array.shape for array in arrays]
        if self._run is None:
            assert self._share is not None
            self._sizes, self._run = sizes, self._compiled(self._share, sizes)
            self._share = None
        elif sizes != self._sizes:
            raise EngineFailed("other sizes than before")
        results = self._run(arrays)
        if not are_ordinary(results):
            raise EngineFailed("answers that are not ordinary")
        return results

    def _compiled(self, share: Share, sizes: list[tuple[int, ...]]) -> Compiled:
        model = share.part.model
        fixed = with_fixed_shapes(model.model.SerializeToString(), dict(zip(self._reads, sizes, strict=True)))
        hints = IslandHints(alone=False, work=share.work)
        return self._engine.compile(fixed, model.weights, self._reads, self._writes, hints)


def with_fixed_shapes(model: bytes, shapes: Mapping[str, Sequence[int]]) -> bytes:
    """The model with the shape of each named input, so that what depends on sizes is computed in advance."""
    fixed = pb.ModelProto.FromString(model)
    for info in fixed.graph.input:
        if info.name in shapes:
            tensor = info.type.tensor_type
            tensor.shape.Clear()
            tensor.shape.SetInParent()
            for size in shapes[info.name]:
                tensor.shape.dim.add(dim_value=size)
    return fixed.SerializeToString()
