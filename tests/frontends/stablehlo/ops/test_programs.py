"""StableHLO programs as TensorFlow ops of old releases, compared with the recorded answers of TensorFlow."""

import numpy as np
import pytest
from tests.frontends.stablehlo.modules import rewritten, run
from tests.frontends.stablehlo.programs import PROGRAMS
from tests.runtime.answers import recorded_answers

OLDEST = "tensorflow==1.4.1"
REFUSED = {
    "random bits of a short state": "stablehlo.rng_bit_generator of a computed state has no translation",
    "random bits": "stablehlo.rng_bit_generator of a computed state has no translation",
    "select_and_scatter": "there is no translation of stablehlo.select_and_scatter",
}
WITHOUT_UINT32 = ("convert to ui32", "count_leading_zeros of integers", "shift_right_logical of integers")
"""1.4.1 does not know the type."""


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in REFUSED])
def test_programs_run_on_old_releases(name):
    _, inputs, kinds = PROGRAMS[name]
    _, module, *expected = recorded_answers("stablehlo")[name]
    target = "tensorflow==1.12.3" if name in WITHOUT_UINT32 else OLDEST
    attempt = rewritten(module.tobytes(), inputs, kinds, target)
    assert attempt.runs, attempt.reasons
    assert not any(node.op.startswith("Xla") for node in attempt.model.graph)
    for ours, theirs in zip(run(attempt.model, inputs, len(kinds)), expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        else:
            assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", REFUSED)
def test_the_reason_names_what_has_no_translation(name):
    _, inputs, kinds = PROGRAMS[name]
    module = recorded_answers("stablehlo")[name][1].tobytes()
    attempt = rewritten(module, inputs, kinds, "tensorflow==2.8.4")
    assert attempt.reasons == [f"the program of `y` cannot be written as TensorFlow ops: {REFUSED[name]}"]
