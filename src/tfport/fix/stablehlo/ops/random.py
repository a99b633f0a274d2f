"""Random bits: only of a constant state, since releases before 2.4 have no op for these generators."""

from __future__ import annotations

import math

import numpy as np

from tfport.fix.rule import refuse
from tfport.fix.stablehlo.declare import translates
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.runtime.ops.xla.stablehlo.interpreter import evaluate

MOST_DRAWN = 1 << 20


@translates("rng_bit_generator")
def rng_bit_generator(op: HloNodes, hlo: HloOp, state: HloTensor) -> list[HloTensor]:
    """The bits of a constant state are constant too."""
    shape = hlo.types[1].shape
    if state.array is None or None in shape or math.prod(n or 0 for n in shape) > MOST_DRAWN:
        raise refuse("stablehlo.rng_bit_generator of a computed state has no translation")
    results = evaluate(hlo, [state.array])
    return [op.known(np.asarray(made, kind.element)) for made, kind in zip(results, hlo.types, strict=True)]
