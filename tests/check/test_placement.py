"""Where nodes ran on a machine with a GPU: on the CPU if they have no other kernel, as recorded."""

from tests.check.test_truth import checked
from tests.truth_outcomes import read_small_model_outcomes

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.devices import CPU

RECORD = read_small_model_outcomes()["gpu/tensorflow-2.21.0"]["outcomes"]
WITH_THEIR_READER = ("Const", "Placeholder", "Identity", "NoOp", "Shape", "Neg")
"""Ops of nodes that TensorFlow placed on the CPU with a neighbor, though they have kernels for the GPU."""
NODES_ON_CPU = 156
"""Nodes without a kernel for the GPU in the models that ran: a lost record must be noticed."""
STATE = ("VarHandleOp", "ReadVariableOp", "AssignVariableOp", "VarIsInitializedOp", "Assign", "VariableV2")
ITERATORS = ("IteratorV2", "MakeIterator", "IteratorGetNext")


def placements():
    """Yield case, op, predicted kind and whether it ran on the CPU, for nodes that ask for no device."""
    (target,) = resolve_targets("tensorflow==2.21.0", device="gpu")
    for case, outcomes in RECORD.items():
        outcome, model = outcomes["capi"], checked(case)
        if outcome["stage"] is None and not isinstance(model, tfport.Error):
            on_cpu = outcome.get("on_cpu", [])
            for usage in model.usages:
                kind = model.kind_of_device(usage, target)
                for node in usage.nodes:
                    if node.graph is model.model.graph and not node.device:
                        yield case, node.op, kind, node.name in on_cpu


def test_nodes_without_a_kernel_for_the_gpu_run_on_the_cpu():
    predicted = [(case, op, is_on_cpu) for case, op, kind, is_on_cpu in placements() if kind == CPU]
    assert len(predicted) == NODES_ON_CPU
    assert not [(case, op) for case, op, is_on_cpu in predicted if not is_on_cpu]


def test_others_run_on_the_gpu_unless_a_neighbor_keeps_them():
    others = {op for _, op, kind, is_on_cpu in placements() if kind != CPU and is_on_cpu}
    assert others <= {*WITH_THEIR_READER, *STATE, *ITERATORS}
