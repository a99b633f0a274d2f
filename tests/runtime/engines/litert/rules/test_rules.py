"""Each node that is translated answers as ONNX Runtime does, in LiteRT and in tfport."""

import pytest
from tests.runtime.engines.litert.rules.node_cases import CASES, small_model
from tests.runtime.engines.litert.translated import RUNNERS, assert_same

from tfport.runtime.engines.litert.translate import RULES


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("case", CASES)
def test_a_translated_node_answers_the_same(case, runner, tmp_path):
    model = small_model(case)
    assert_same(model.by_onnx_runtime(), model.answers(runner, tmp_path))


def test_every_translation_has_a_case():
    assert {case.split()[0] for case in CASES} == set(RULES)
