"""XlaCallModule: a StableHLO program in one node, as jax2tf and Keras on JAX write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun, UnreadableFile
from tfport.formats.stablehlo.vhlo import read_vhlo
from tfport.graph.attrs import Attr
from tfport.graph.graph import Node
from tfport.runtime.failures import naming_node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.ops.xla.stablehlo.interpreter import Interpreter
from tfport.runtime.program import NeverLowered, Step
from tfport.runtime.trace import Tracer
from tfport.runtime.unsupported import UnsupportedNode

MAIN = "main"
PLATFORM = "CPU"


@structure("XlaCallModule")
def call_module(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    """Read the program while planning, so that unsupported ops are reported at once."""
    kinds = list(attrs["Tout"])
    shapes = (
        [shape.dims for shape in attrs["Sout"]] if len(attrs["Sout"]) == len(kinds) else [None] * len(kinds)
    )
    outputs = tuple(
        Operand(kind, None if shape is None else (None,) * len(shape), name=node.name)
        for kind, shape in zip(kinds, shapes, strict=True)
    )
    program = _program(tracer, node, attrs)
    if program is None:
        return list(outputs)
    platforms = [str(p).upper() for p in attrs.get("platforms") or []]

    def run(inputs: Sequence[Any]) -> list[Any]:
        arrays = list(inputs)
        if len(platforms) > 1 and len(program.functions[MAIN].args) == len(arrays) + 1:
            arrays.insert(0, np.array(platforms.index(PLATFORM) if PLATFORM in platforms else 0, np.int32))
        with np.errstate(all="ignore"):
            answers = program.run(MAIN, arrays)
            return [np.asarray(a, k.numpy) for a, k in zip(answers, kinds, strict=True)]

    named = naming_node(run, node.name, node.op)
    return list(
        tracer.add(Step(node.name, node.op, tuple(inputs), outputs, run=named, why=NeverLowered.XLA_PROGRAM))
    )


def _program(tracer: Tracer, node: Node, attrs: dict[str, Attr]) -> Interpreter | None:
    """The program, or None if it is unsupported."""
    try:
        return _supported(node, attrs)
    except (CannotRun, UnreadableFile) as error:
        tracer.unsupported.append(UnsupportedNode(node, str(error)))
        return None


def _supported(node: Node, attrs: dict[str, Attr]) -> Interpreter:
    if attrs.get("dim_args_spec") or attrs.get("function_list") or attrs.get("has_token_input_output"):
        raise CannotRun(
            "tfport does not run modules with dimension arguments, TensorFlow functions or tokens"
        )
    module = attrs["module"]
    raw = module.encode() if isinstance(module, str) else bytes(module)
    program = Interpreter(read_vhlo(raw, f"the module of `{node.name}`"))
    if MAIN not in program.functions:
        raise CannotRun(f"the module has no function {MAIN}")
    if missing := program.unsupported():
        raise CannotRun(f"tfport has no kernel for {', '.join(missing)}")
    return program
