"""Every layer computes what the release of Keras that saved it computes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers
from tests.frontends.keras.layer_cases import FAMILIES
from tests.frontends.keras.recorded_layers import one_model, recorded_cases, releases


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("release", releases())
def test_layers_answer_as_the_release_that_saved_them(release, family):
    cases = list(recorded_cases(release, family))
    if not cases:
        return
    results = answers(one_model(release, cases), *(array for case in cases for array in case.inputs))
    wrong = []
    for case, result in zip(cases, results, strict=True):
        if result.shape != case.answer.shape:
            wrong.append(f"{case.name}: the shape {result.shape}, expected {case.answer.shape}")
        elif not np.allclose(result, case.answer, rtol=1e-5, atol=2e-6, equal_nan=True):
            wrong.append(f"{case.name}: off by {np.abs(result - case.answer).max()}")
    assert not wrong, "\n".join(wrong)
