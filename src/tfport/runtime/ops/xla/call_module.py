"""XlaCallModule: a StableHLO program in one node, as jax2tf and Keras on JAX write it.

Its program is translated into a function of TensorFlow ops (`frontends.stablehlo`), which is traced
like any other call.
"""

from __future__ import annotations

from tfport.errors import CannotRun, UnreadableFile
from tfport.frontends.stablehlo.call_module import CalledModule
from tfport.graph.attrs import Attr
from tfport.graph.graph import FunctionLibrary, Graph, Node
from tfport.runtime.lower import structure
from tfport.runtime.operand import Operand
from tfport.runtime.trace import Tracer


@structure("XlaCallModule")
def call_module(tracer: Tracer, node: Node, inputs: list[Operand], attrs: dict[str, Attr]) -> list[Operand]:
    library = FunctionLibrary()  # the model's own stays as it is
    library.functions.update(node.graph.library.functions)
    try:
        module = CalledModule(Graph(node.graph.ops, library), node.name, attrs, own_runtime=True)
        if missing := module.program.unsupported():
            raise CannotRun(f"tfport has no kernel for {', '.join(missing)}")
        shapes = [(operand.dtype, operand.shape) for operand in inputs]
        function = module.function(shapes, checks_shapes=True)
    except UnreadableFile as error:
        raise CannotRun(str(error)) from None
    return tracer.call(function, inputs, {})
