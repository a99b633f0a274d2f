"""For TensorFlow 1.9 to 1.12 functions have nothing on which those sessions end the process."""

import numpy as np
import pytest
from tests.truth_models import TRUTH, model_folder

import tfport
from tfport.check.node_contexts import LOWER

CASES = [  # a model of the ground truth, and what its functions have for 1.12.3 and for 1.13.2
    ("slice_without_masks.partitioned", "stated defaults", 1, 0),
    ("slice_without_masks.called", "stated defaults", 1, 0),
    ("slice_with_masks.partitioned", "stated defaults", 0, 0),
    ("slice_with_new_axis.partitioned", "stated defaults", 0, 0),
    ("lowered_loop_in_call", "loops as they are", 1, 0),
    ("lowered_loop_in_function", "loops as they are", 0, 0),
    ("lowered_loop_in_lowered_branch", "loops as they are", 1, 0),
    ("lowered_loop_in_branch", "loops as they are", 0, 0),
    ("scatter_nd_in_call", "without functions", 1, 0),
    ("scatter_nd_in_main", "without functions", 0, 0),
]


@pytest.mark.parametrize(("name", "step", "old", "new"), CASES, ids=[case[0] for case in CASES])
def test_functions_are_changed_for_the_releases_that_need_it(name, step, old, new):
    source = tfport.load(str(model_folder(TRUTH / "models" / name)))
    for release, times in ("1.12.3", old), ("1.13.2", new):
        fixed = tfport.fix(source, target=f"tensorflow=={release}")
        assert sum(entry.name == step for entry in fixed.journal.entries) == times
        assert tfport.check(fixed.model, on=f"tensorflow=={release}").verdict == "runs"


def test_a_slice_states_all_masks():
    fixed = tfport.fix(str(model_folder(TRUTH / "models/slice_without_masks.partitioned")), target="tensorflow==1.12.3")
    (node,) = (n for f in fixed.model.graph.library.functions.values() for n in f if n.op == "StridedSlice")
    assert {name: node.attrs[name] for name in node.attrs if name.endswith("_mask")} == dict.fromkeys(
        ("begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )


def test_a_loop_is_not_lowered_and_answers_the_same():
    path = str(TRUTH / "models/lowered_loop_in_call")
    fixed = tfport.fix(path, target="tensorflow==1.12.3")
    loops = [n for f in fixed.model.graph.library.functions.values() for n in f if n.op == "While"]
    assert loops
    assert not any(LOWER in loop.attrs for loop in loops)
    before, after = (tfport.Session(m).signature("serving_default")(x=np.int32(3)) for m in (path, fixed.model))
    assert before == after
