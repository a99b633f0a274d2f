"""Drop attributes that the target's definition of an op does not have, if they do not matter.

The newest definition's default of an attribute means what the op did before it had the attribute:
TensorFlow adds attributes that way. `HINTS` are attributes that never change the outputs. Rules of
the op's family handle attributes that do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import ANY, EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.registry.unresolved import Question

Dims = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Hint:
    """Attributes of some ops (`*` for all) that do not change the outputs, and why."""

    ops: str
    attrs: str
    why: str
    values: Collection[str] = ()
    """The values that do not matter; empty for all."""
    where: Callable[[NodeBuilder, Node], bool] | None = None
    """The nodes to which this applies; None for all."""

    def holds(self, op: NodeBuilder, n: Node, name: str) -> bool:
        if name not in self.attrs.split() or (self.ops != ANY and n.op not in self.ops.split()):
            return False
        return (not self.values or n.attrs[name] in self.values) and (self.where is None or self.where(op, n))


def _does_not_train(op: NodeBuilder, n: Node) -> bool:
    return n.attrs.get("is_training") is False


def _makes_no_short_float(op: NodeBuilder, n: Node) -> bool:
    made = n.attrs["DstT"]
    return not (isinstance(made, DType) and (made.is_floating or made.is_complex))


def _shapes_fit(op: NodeBuilder, n: Node) -> bool:
    left, right = (op.shape(value) for value in n.inputs)
    return left == () or right == () or (left is not None and right is not None and _broadcast(left, right))


def _broadcast(left: Dims, right: Dims) -> bool:
    """Whether shapes are known to be compatible."""
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(a == 1 or b == 1 or (a == b and a is not None) for a, b in pairs)


HINTS = (
    Hint("VarHandleOp _XlaAotOnlyVarHandleOp", "debug_name", "a name in messages"),
    Hint("VarHandleOp", "allowed_devices", "where copies of a variable may be placed"),
    Hint("AssignVariableOp", "validate_shape", "only rejects values of a different shape"),
    Hint("PartitionedCall StatefulPartitionedCall", "config config_proto executor_type", "how a call runs"),
    Hint("If StatelessIf While StatelessWhile", "output_shapes", "hints of result shapes"),
    Hint("While StatelessWhile", "parallel_iterations", "how many iterations may run in parallel"),
    Hint("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 _MklMatMul _MklBatchMatMul _MklBatchMatMulV2",
         "grad_a grad_b grad_x grad_y", "marks products of a gradient"),
    Hint("SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN "
         "SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments",
         "sparse_gradient", "how its gradient is computed"),
    Hint("TensorArrayV3", "identical_element_shapes", "only rejects elements of a different shape"),
    Hint("_FusedConv2D", "use_cudnn_on_gpu", "which library a GPU uses"),
    Hint("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx", "exponential_avg_factor",
         "used in training only", where=_does_not_train),
    Hint("Cast _HostCast", "Truncate", "affects only casts to shorter floats", where=_makes_no_short_float),
    Hint("Equal NotEqual", "incompatible_shape_error", "affects only incompatible shapes", where=_shapes_fit),
    Hint("GatherNd ScatterNd ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterMax TensorScatterMin "
         "TensorScatterSub TensorScatterUpdate ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub "
         "ScatterNdUpdate ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin "
         "ResourceScatterNdSub ResourceScatterNdUpdate",
         "bad_indices_policy", "a CPU rejects bad indices without it too", values=("DEFAULT", "ERROR")),
    Hint("MergeV2Checkpoints", "allow_missing_files", "affects only which files must exist"),
    Hint(ANY, "metadata", "a name in messages about a dataset",
         where=lambda op, n: n.op != "RegisterDataset"),
    Hint("MapDataset ParallelMapDataset ExperimentalMapDataset ParallelMapDatasetV2 BatchDatasetV2 "
         "PaddedBatchDatasetV2 ParallelBatchDataset",
         "use_inter_op_parallelism parallel_copy force_synchronous use_unbounded_threadpool",
         "which threads compute elements"),
    Hint("MapDataset ParallelMapDataset MapAndBatchDataset ScanDataset", "preserve_cardinality",
         "affects only functions that end a dataset"),
    Hint("ParallelMapDataset ParallelInterleaveDatasetV2 ParseExampleDataset", "sloppy",
         "allows any order, including the one without it"),
    Hint("ScanDataset", "use_default_device", "where elements are computed"),
    Hint("PrefetchDataset", "buffer_size_min legacy_autotune slack_period",
         "how many elements are prefetched"),
    Hint("ModelDataset", "algorithm cpu_budget ram_budget", "how buffers are tuned"),
    Hint("OptimizeDataset", "optimization_configs", "how a dataset is optimized"),
    Hint("TensorSliceDataset RangeDataset", "is_files replicate_on_split", "how workers split a dataset"),
    Hint("IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset", "log_warning", "what is logged"),
    Hint("BatchFunction", "enable_large_batch_splitting low_priority_allowed_batch_sizes "
         "low_priority_batch_timeout_micros low_priority_max_batch_size low_priority_max_enqueued_batches "
         "mixed_priority_policy batch_padding_policy", "which requests share a batch"),
    Hint("Batch", "max_enqueued_batches", "how many batches may wait"),
    Hint("MapDefun", "max_intra_op_parallelism", "how many elements are computed in parallel"),
)  # fmt: skip


@rule(ANY, keeps=EXACT)
def without_attributes_that_change_nothing(op: NodeBuilder, n: Node) -> Replacement:
    """Attributes that the target's op does not have are dropped, as their values change nothing."""
    return _without(op, n, lambda name: _changes_nothing(op, n, name))


@rule("Equal NotEqual", keeps=LOSSY)
def failing_where_shapes_do_not_fit(op: NodeBuilder, n: Node) -> Replacement:
    """Without incompatible_shape_error=false, incompatible shapes are an error instead of unequal."""
    return _without(op, n, lambda name: name == "incompatible_shape_error" or _changes_nothing(op, n, name))


def _without(op: NodeBuilder, n: Node, is_droppable: Callable[[str], bool]) -> Replacement:
    problems = op.checker.unresolved(n)
    if other := next((p for p in problems if p.question is not Question.UNKNOWN_ATTR), None):
        is_one = any(problem.question is Question.UNKNOWN_ATTR for problem in problems)
        why = f"its attributes are not the only problem ({other.question.value})"
        return refuse(why) if is_one else OtherProblem(why)
    unknown = {problem.attr for problem in problems}
    if kept := sorted(name for name in unknown if not is_droppable(name)):
        return refuse(f"{kept[0]}={n.attrs[kept[0]]} changes the outputs")
    made = op.node(n.op, *n.inputs, **{k: v for k, v in n.attrs.items() if k not in unknown})
    made.attrs.update({k: v for k, v in n.attrs.items() if k.startswith("_")})  # the op is the same
    return made


def _changes_nothing(op: NodeBuilder, n: Node, name: str) -> bool:
    """Whether an attribute changes nothing: it has its default value, or is a hint."""
    defaults = n.signature.defaults if n.signature else {}
    if name in defaults and n.attrs[name] == defaults[name]:
        return True
    return any(hint.holds(op, n, name) for hint in HINTS)
