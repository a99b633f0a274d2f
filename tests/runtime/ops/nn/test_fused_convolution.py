import itertools

import numpy as np
import pytest
from tests.runtime.baked import baked
from tests.runtime.cases import case, check, checks, numbers

SUMS = 1e-5  # absolute tolerance: a sum may be much smaller than its terms


def vectors(*lows):
    return [numbers(4, seed=i, low=low) for i, low in enumerate(lows)]


def fused(ops, *args, **more):
    attrs = {"strides": [1, 2, 2, 1], "padding": "SAME", **more}
    return baked(
        "_FusedConv2D", numbers(1, 5, 6, 3), numbers(3, 3, 3, 4), list(args), [], fused_ops=list(ops),
        num_args=len(args), epsilon=1e-3, num_host_args=0, atol=SUMS, **attrs,
    )  # fmt: skip


def depthwise(ops, *args, **more):
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", **more}
    return baked(
        "_FusedDepthwiseConv2dNative", numbers(1, 5, 6, 2), numbers(3, 3, 2, 2), list(args),
        fused_ops=list(ops), atol=SUMS, **attrs,
    )  # fmt: skip


def dilation(op, x, w, *more, stride=1, rate=1, padding="SAME", **options):
    return case(
        op, x, w, *more, strides=[1, stride, stride, 1], rates=[1, rate, rate, 1], padding=padding, **options
    )


CASES = [
    fused(["BiasAdd"], *vectors(-1)),
    *(fused(["BiasAdd", op], *vectors(-1)) for op in ("Relu", "Relu6", "Elu", "LeakyRelu")),
    fused(["FusedBatchNorm"], *vectors(-1, -1, -1, 0.1)),
    *(
        fused(["FusedBatchNorm", op], *vectors(-1, -1, -1, 0.1))
        for op in ("Relu", "Relu6", "Elu", "LeakyRelu")
    ),
    fused(["BiasAdd", "Add"], *vectors(-1), numbers(1, 3, 3, 4)),
    fused(["BiasAdd", "Add", "Relu"], *vectors(-1), numbers(1, 3, 3, 4)),
    *(depthwise(["BiasAdd", *op], *vectors(-1)) for op in ([], ["Relu"], ["Relu6"], ["Elu"])),
    *(
        dilation("Dilation2D", numbers(1, 6, 7, 2), numbers(3, 2, 2), stride=s, rate=r, padding=p)
        for s, r, p in itertools.product((1, 2), (1, 2), ("SAME", "VALID"))
    ),
    dilation("Dilation2D", numbers(1, 6, 7, 2, kind=np.float64), numbers(3, 2, 2, kind=np.float64)),
    dilation(
        "Dilation2D", numbers(1, 6, 7, 2, kind=np.int32, high=99), numbers(3, 2, 2, kind=np.int32, high=99)
    ),
    dilation(
        "Dilation2D",
        numbers(1, 6, 7, 2, kind=np.uint8, low=0, high=250),
        numbers(3, 2, 2, kind=np.uint8, low=0, high=250),
    ),
    dilation("Dilation2D", numbers(1, 6, 7, 2), numbers(3, 2, 3), fails=True),
    dilation("Dilation2DBackpropInput", numbers(1, 6, 7, 2), numbers(3, 2, 2), numbers(1, 3, 4, 2), stride=2),
    dilation(
        "Dilation2DBackpropFilter", numbers(1, 6, 7, 2), numbers(3, 2, 2), numbers(1, 3, 4, 2), stride=2
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_fused_convolutions(c, ways):
    check("fused_convolution", c, ways)
