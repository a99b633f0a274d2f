"""Run a model with TensorFlow on inputs of its signatures' shapes.

`answers(kind, path)` returns {request: arrays or error}, which are equal for two equivalent models. Inputs
are random, seeded with their name.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from tests.live import facts, sums

tf, v1 = facts.tf, facts.v1

SOON = v1.RunOptions(timeout_in_ms=2_000)  # a queue that is never filled would wait forever
ANYWHERE = v1.ConfigProto(allow_soft_placement=True)
HANDLES = ("IteratorToStringHandle",)  # differs in each session
WORDS = np.array([b"one", b"two", b"three", b"1.5", b""], object)


def example(n: int) -> bytes:
    """Return a serialized Example, the input of Estimators."""
    words, numbers = [[b"one", b"two", b"none"][n % 3]], [float(n), n + 0.5]
    feature = {
        "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=numbers)),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


PARTS = {  # components of a sparse and a ragged tensor, which must fit together
    "serving_default_args_0:0 int64 2": np.array([[0, 0], [1, 2]], np.int64),
    "serving_default_args_0_1:0 float32 1": np.array([1.5, 2.5], np.float32),
    "serving_default_args_0_2:0 int64 1": np.array([2, 3], np.int64),
    "serving_default_args_0:0 int64 1": np.array([3, 1, 2], np.int64),
    "serving_default_args_0_1:0 int64 1": np.array([0, 2, 3], np.int64),
}


def made(name: str, dtype: Any, shape: Any) -> np.ndarray:
    """Return an array for a tensor of this name, type and partial shape."""
    dims = [2 if d is None else d for d in shape.as_list()] if shape.rank is not None else [2]
    if (part := PARTS.get(f"{name} {dtype.name} {len(dims)}")) is not None:
        return part
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if name == "examples:0":
        return np.array([example(n) for n in range(int(np.prod(dims)))], object).reshape(dims)
    if dtype == tf.string:
        return random.choice(WORDS, dims)
    if dtype == tf.bool:
        return random.integers(0, 2, dims).astype(bool)
    values = random.integers(0, 3, dims) if dtype.is_integer else random.uniform(0.1, 2, dims)
    return values.astype(dtype.as_numpy_dtype)


def names(info: Any) -> Iterator[str]:
    """Yield the tensors of an input or output of a signature."""
    if info.HasField("composite_tensor"):
        for part in info.composite_tensor.components:
            yield from names(part)
    elif info.HasField("coo_sparse"):
        coo = info.coo_sparse
        yield from (coo.indices_tensor_name, coo.values_tensor_name, coo.dense_shape_tensor_name)
    else:
        yield info.name


def run_session(session: Any, feeds: list[str], fetches: list[str]) -> Any:
    """Return the answer of a session, or the name of its error."""
    graph = session.graph
    tensors = {graph.get_tensor_by_name(name) for name in feeds}
    try:
        return session.run(fetches, {t: made(t.name, t.dtype, t.shape) for t in tensors}, SOON)
    except (tf.errors.OpError, TypeError) as error:
        return type(error).__name__


def of_saved_model(path: Path) -> dict[str, Any]:
    """Run like TensorFlow Serving: each MetaGraph in a session, each signature by its tensors."""
    out = {}
    for graph in facts.saved_model(path)["graphs"]:
        for name in sorted(graph["signatures"]):
            with v1.Session(graph=tf.Graph()) as session:  # a new one each time: variables may change
                meta = v1.saved_model.load(session, graph["tags"], str(path))
                signature = meta.signature_def[name]
                feeds = [n for info in signature.inputs.values() for n in names(info)]
                fetches = [n for _, info in sorted(signature.outputs.items()) for n in names(info)]
                out[f"{graph['tags']} {name}"] = run_session(session, feeds, fetches)
    return out


def of_objects(path: Path) -> dict[str, Any]:
    """Run like TF2: `tf.saved_model.load`, each signature as a function."""
    loaded = tf.saved_model.load(str(path))
    out = {}
    for name in sorted(loaded.signatures):
        function = loaded.signatures[name]
        inputs = function.structured_input_signature[1]
        place = f"{name}_{{}}:0"
        arrays = {k: tf.constant(made(place.format(k), s.dtype, s.shape), s.dtype) for k, s in inputs.items()}
        try:
            answer = tf.nest.flatten(function(**arrays), expand_composites=True)
            out[name] = [tensor.numpy() for tensor in answer]
        except (tf.errors.OpError, TypeError) as error:
            out[name] = type(error).__name__
    return out


def ends(graph: Any) -> list[str]:
    """Return the outputs that nothing reads, except those for saving."""
    return [
        output.name
        for op in graph.get_operations()
        for output in op.outputs[:1]
        if not output.consumers() and op.inputs and "save" not in op.name and op.type not in HANDLES
    ]


def placeholders(graph: Any) -> list[str]:
    return [op.outputs[0].name for op in graph.get_operations() if op.type == "Placeholder"]


def of_graph_def(path: Path) -> dict[str, Any]:
    graph = tf.Graph()
    record = facts.parse(path, v1.GraphDef())
    for node in record.node:
        node.device = ""  # this machine may not have the device
    with graph.as_default():
        tf.import_graph_def(record, name="")
    return of_ends(graph, lambda session: None)


def of_meta_graph(path: Path) -> dict[str, Any]:
    graph = tf.Graph()
    with graph.as_default():
        saver = v1.train.import_meta_graph(str(path), clear_devices=True)
        values = {v.name: v for v in v1.global_variables()}

    def restore(session: Any) -> None:
        if saver:
            saver.restore(session, str(path.with_suffix("")))

    with v1.Session(graph=graph, config=ANYWHERE) as session:
        restore(session)
        read = {name: session.run(value) for name, value in sorted(values.items())}
    return {**read, **of_ends(graph, restore)}


def of_ends(graph: Any, prepare: Any) -> dict[str, Any]:
    out = {}
    for name in ends(graph):
        with v1.Session(graph=graph, config=ANYWHERE) as session:
            prepare(session)
            out[name] = run_session(session, placeholders(graph), [name])
    return out


def answers(kind: str, path: Path) -> dict[str, Any]:
    """Return all answers of a model of this kind."""
    path = facts.newest_version(path)
    return {"saved_model": of_saved_model, "graph_def": of_graph_def, "meta_graph": of_meta_graph}[kind](path)


def bits(answer: Any) -> Any:
    """Return an answer in a form that compares equal even if it contains NaN."""
    if isinstance(answer, str | NoneType):
        return answer
    if isinstance(answer, list):
        return [bits(element) for element in answer]
    array = np.asarray(answer, object if isinstance(answer, bytes) else None)
    return str(array.dtype), array.shape, sums.digest(array)


def assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Check that the answers are the same bit for bit, and not all errors."""
    assert ours.keys() == theirs.keys()
    for what in theirs:
        assert bits(ours[what]) == bits(theirs[what]), f"{what}: {ours[what]} instead of {theirs[what]}"
    assert not theirs or any(not isinstance(answer, str) for answer in theirs.values())
