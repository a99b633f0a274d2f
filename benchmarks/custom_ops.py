"""Measure the cost of calling a custom op, in C++ and in Python, compared with TensorFlow's.

    .venv-live/bin/python benchmarks/custom_ops.py

The op is the same everywhere: the minimum of each element and a number. With one element there is nearly
nothing to compute, which leaves the overhead of the call. Each row is the best of several rounds, in which
all contenders take turns. `alone` is one call: of a kernel as in a plan of tfport, of an op as in
TensorFlow's Python API. `a graph of one` is a whole run, with `tfport.Session` or as a `tf.function`;
`one more` is the cost of each additional op in it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

import tfport
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.host import host_run
from tfport.runtime.lower import Context
from tfport.runtime.native.compiler import compile_library, flags_for_tfport
from tfport.runtime.native.tensorflow_flags import tensorflow_tree
from tfport.runtime.operand import Operand
from tfport.runtime.state import State

FOR_TENSORFLOW = Path(__file__).parents[1] / "tests" / "live" / "ops" / "acme_clip.cc"
FOR_TFPORT = """
#include <tfport/op.h>
#include <algorithm>
TFPORT_OP("Bench>Clip: (x: float) -> y: float; most: float = 1.0");
void clip(tfport::Context& c) {
  const auto x = c.input<float>(0);
  const float most = static_cast<float>(c.attr<double>("most"));
  auto y = c.output<float>(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) y[i] = std::min(x[i], most);
}
TFPORT_KERNEL(Bench>Clip, "", clip);
"""
CHAIN = 200
ROUNDS, ROUND, BATCH = 60, 0.01, 10
SIZES = (1, 1000, 100_000)
Call = Callable[[Any], Any]


def build_libraries(folder: Path) -> tuple[Path, Path]:
    """Build the op as a library for tfport and one for TensorFlow."""
    ours, theirs = folder / "libclip.so", folder / "clip_tf.so"
    (folder / "clip.cc").write_text(FOR_TFPORT)
    compile_library([str(folder / "clip.cc")], str(ours), flags_for_tfport())
    with tensorflow_tree(f"tensorflow=={tf.__version__}") as tree:
        compile_library([str(FOR_TENSORFLOW)], str(theirs), tree.flags())
    return ours, theirs


def in_python() -> tfport.Registry:
    registry = tfport.Registry()

    @registry.op("Bench>Clip: (x: float) -> y: float; most: float = 1.0")
    @registry.kernel("Bench>Clip")
    def clip(x, *, most):
        return np.minimum(x, np.float32(most))

    return registry


def clip_array(x: Any) -> Any:
    return np.minimum(x, np.float32(1))


def clip_tensor(x: Any) -> Any:
    return clip_array(x.numpy())


def in_cpp(library: Path) -> tfport.Registry:
    registry = tfport.Registry()
    tfport.load_op_library(library, registry)
    return registry


def alone(registry: tfport.Registry) -> Call:
    """Return a kernel, called as in a plan."""
    (kernel,) = registry.kernels_of("Bench>Clip")
    context = Context(State(), "y", "Bench>Clip", (FLOAT32,))
    run = host_run(kernel, [Operand(FLOAT32, (None,))], {"most": 1.0}, context)
    return lambda x: run([x])


def chain(registry: tfport.Registry, length: int) -> Call:
    """Return a session of a chain of ops."""
    nodes = ['node { name: "n0" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }']
    nodes += [f'node {{ name: "n{i + 1}" op: "Bench>Clip" input: "n{i}" }}' for i in range(length)]
    session = tfport.Session("\n".join(nodes).encode(), registry=registry)
    return lambda x: session.run(f"n{length}:0", {"n0:0": x})


def tensorflow_chain(op: Call, length: int) -> Call:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def run(x: Any) -> Any:
        for _ in range(length):
            x = op(x)
        return x

    return run


def best(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the microseconds of each contender: the best of many short rounds, in turn."""
    times = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            start, calls = time.perf_counter(), 0
            while (now := time.perf_counter()) - start < ROUND or not calls:
                for _ in range(BATCH):
                    call()
                took = (time.perf_counter() - now) / BATCH * 1e6
                times[name] = min(times[name], took)
                calls += BATCH
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = build_libraries(Path(folder))
        clip = tf.load_op_library(str(theirs)).acme_clip
        registries = {"tfport, C++": in_cpp(ours), "tfport, Python": in_python()}
        python = {
            "tf.py_function": lambda x: tf.py_function(clip_tensor, [x], tf.float32),
            "tf.numpy_function": lambda x: tf.numpy_function(clip_array, [x], tf.float32),
        }
        theirs_all: dict[str, Call] = {"tf.load_op_library": clip, **python}
        print(f"\nTensorFlow {tf.__version__}, NumPy {np.__version__}; microseconds for one call\n")
        print(
            f"| {'':<19} |"
            + "".join(f" alone, {size:,} |" for size in SIZES)
            + " a graph of one | one more |"
        )
        print(f"|{'---|' * (len(SIZES) + 3)}")
        columns: list[dict[str, float]] = []
        for size in SIZES:
            x = np.ones(size, np.float32)
            t = tf.constant(x)
            calls = {name: partial(alone(r), x) for name, r in registries.items()}
            calls |= {name: partial(call, t) for name, call in theirs_all.items()}
            columns.append(best(calls))
        columns += graphs(registries, theirs_all)
        for name in (*registries, *theirs_all):
            print(f"| {name:<19} | " + " | ".join(f"{column[name]:.1f}" for column in columns) + " |")


def graphs(registries: dict[str, tfport.Registry], theirs: dict[str, Call]) -> list[dict[str, float]]:
    """Measure a whole run of a graph with one op, and the cost of each additional op."""
    x, t = np.ones(1, np.float32), tf.constant([1.0])
    times = []
    for length in (1, CHAIN + 1):
        calls = {name: partial(chain(r, length), x) for name, r in registries.items()}
        calls |= {name: partial(tensorflow_chain(op, length), t) for name, op in theirs.items()}
        times.append(best(calls))
    return [times[0], {name: (times[1][name] - times[0][name]) / CHAIN for name in times[0]}]


if __name__ == "__main__":
    main()
