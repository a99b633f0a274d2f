"""Full integer files: the calls to calibrate with, and what is missing."""

import importlib.util

import numpy as np
import pytest
from tests.fix.lite.test_export import exported
from tests.recorded_models import path_of

import tfport
from tfport.errors import Error
from tfport.fix.lite.export import LiteExportOptions
from tfport.fix.lite.full_integer import FULL_INT8, PACKAGE, samples_of
from tfport.graph.save import as_saved_model

HAS_QUANTIZER = importlib.util.find_spec(PACKAGE) is not None


def _signatures():
    model = as_saved_model(tfport.load(path_of("keras_sequential")))
    return {"serving_default": model.signatures["serving_default"]}


def _inputs(rows):
    (signature,) = _signatures().values()
    return {
        name: np.ones((rows, *(size or 1 for size in spec.shape.dims[1:])), np.float32)
        for name, spec in signature.inputs.items()
    }


def test_each_row_is_a_call():
    ((_, calls),) = samples_of(_inputs(3), _signatures()).items()
    assert [{array.shape[0] for array in call.values()} for call in calls] == [{1}] * 3


def test_inputs_that_match_no_signature_are_named():
    with pytest.raises(Error, match="match no signature; serving_default takes"):
        samples_of({"other": np.ones(2)}, _signatures())


def test_it_needs_inputs():
    with pytest.raises(Error, match="needs inputs to calibrate with: --calibrate"):
        exported("keras_sequential", lite=LiteExportOptions(FULL_INT8))


@pytest.mark.skipif(HAS_QUANTIZER, reason="ai-edge-quantizer is installed")
def test_it_needs_the_quantizer():
    with pytest.raises(
        Error, match=r'needs ai-edge-quantizer, which is not installed: pip install "tfport\[quantize\]"'
    ):
        exported(
            "keras_sequential",
            lite=LiteExportOptions(FULL_INT8, calibrate=_inputs(2)),
            signatures=("serving_default",),
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not HAS_QUANTIZER, reason="ai-edge-quantizer is not installed")
def test_the_file_has_integers():
    lite = LiteExportOptions(FULL_INT8, tolerance=0.5, calibrate=_inputs(2))
    fixed = exported("keras_sequential", lite=lite, signatures=("serving_default",))
    assert "INT8" in {tensor.type for tensor in fixed.model.lite.subgraphs[0].tensors}
