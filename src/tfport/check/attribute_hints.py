"""Attributes that do not change the outputs of a node: hints of placement, names, gradients.

A target whose op lacks such an attribute computes the same without it. `check` does not report it, and
`fix` drops it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tfport.graph.dtypes import DType
from tfport.graph.graph import Node, Value
from tfport.startup.dataclass import dataclass

ANY = "*"
Dims = tuple[int | None, ...]
ShapeOf = Callable[[Value], Dims | None]
"""Returns the sizes of a value, as far as the caller knows them."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Attributes of some ops (`*` for all) that do not change the outputs, and why."""

    ops: str
    attrs: str
    why: str
    values: Collection[str] = ()
    """The values that do not matter; empty for all."""
    where: Callable[[Node, ShapeOf], bool] | None = None
    """The nodes to which this applies; None for all."""

    def holds(self, node: Node, name: str, shape_of: ShapeOf) -> bool:
        if name not in self.attrs.split() or (self.ops != ANY and node.op not in self.ops.split()):
            return False
        if self.values and node.attrs[name] not in self.values:
            return False
        return self.where is None or self.where(node, shape_of)


def is_hint(node: Node, name: str, shape_of: ShapeOf) -> bool:
    """Whether an attribute of a node does not change its outputs."""
    return any(hint.holds(node, name, shape_of) for hint in HINTS)


def stated_shape(value: Value) -> Dims | None:
    """The shape that the file states."""
    return value.shape.dims


def _does_not_train(node: Node, shape_of: ShapeOf) -> bool:
    return node.attrs.get("is_training") is False


def _makes_no_short_float(node: Node, shape_of: ShapeOf) -> bool:
    dtype = node.attrs["DstT"]
    return not (isinstance(dtype, DType) and (dtype.is_floating or dtype.is_complex))


def _registers_nothing(node: Node, shape_of: ShapeOf) -> bool:
    return node.op != "RegisterDataset"


def _shapes_fit(node: Node, shape_of: ShapeOf) -> bool:
    left, right = map(shape_of, node.inputs)
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
         where=_registers_nothing),
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
