"""The sums of a forest's leaves by ONNX Runtime: a TreeEnsembleRegressor over the columns of its conditions.

Its threads are one, as of the op in TensorFlow; sums are in float32 and in the order of the trees, as ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.session_settings import session_options
from tfport.runtime.onnx.model import DOMAINS, IR_VERSION, ML
from tfport.runtime.ops.forests.condition_columns import ConditionColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPSET = 18
FLOAT = 1
"""ONNX's number of float32."""


class TreeSums:
    """What `leaf_values` (by node and output) add up to.

    `outputs`: the only output that each tree adds to; without it, a tree adds to all. `start` is added last.
    """

    def __init__(
        self,
        roots: NDArray[Any],
        child: NDArray[Any],
        inner: NDArray[Any],
        columns: ConditionColumns,
        leaf_values: NDArray[Any],
        outputs: NDArray[Any] | None,
        start: NDArray[Any],
    ) -> None:
        tree = np.searchsorted(roots, np.arange(len(inner)), "right") - 1
        within = np.arange(len(inner)) - roots[tree]
        leaves = np.flatnonzero(~inner)
        count = len(start)
        if outputs is None:
            leaf, target = np.repeat(leaves, count), np.tile(np.arange(count), len(leaves))
            weights = leaf_values[leaves].reshape(-1)
        else:
            leaf, target, weights = leaves, outputs[tree[leaves]], leaf_values[leaves, 0]
        modes = np.where(inner, b"BRANCH_GTE", b"LEAF")
        integers = {
            "nodes_treeids": tree,
            "nodes_nodeids": within,
            "nodes_featureids": np.where(inner, columns.column, 0),
            "nodes_falsenodeids": np.where(inner, child[:, 0] - roots[tree], 0),
            "nodes_truenodeids": np.where(inner, child[:, 1] - roots[tree], 0),
            "target_treeids": tree[leaf],
            "target_nodeids": within[leaf],
            "target_ids": target,
        }
        numbers = {
            "nodes_values": np.where(inner, columns.threshold, np.float32(0)),
            "target_weights": weights,
            "base_values": start,
        }
        node = pb.NodeProto(op_type="TreeEnsembleRegressor", domain=ML, input=["x"], output=["y"])
        for name, values in integers.items():
            node.attribute.add(name=name, type=pb.AttributeProto.INTS, ints=values.tolist())
        for name, floats in numbers.items():
            node.attribute.add(name=name, type=pb.AttributeProto.FLOATS, floats=floats.tolist())
        node.attribute.add(name="nodes_modes", type=pb.AttributeProto.STRINGS, strings=modes.tolist())
        node.attribute.add(name="n_targets", type=pb.AttributeProto.INT, i=count)
        model = pb.ModelProto(ir_version=IR_VERSION, producer_name="tfport")
        model.opset_import.add(domain="", version=OPSET)
        model.opset_import.add(domain=ML, version=DOMAINS[ML])
        model.graph.name = "forest"
        model.graph.node.append(node)
        for name, size, infos in (("x", columns.count, model.graph.input), ("y", count, model.graph.output)):
            tensor = infos.add(name=name).type.tensor_type
            tensor.elem_type = FLOAT
            tensor.shape.dim.add(dim_param="rows")
            tensor.shape.dim.add(dim_value=size)
        self._session = ort.InferenceSession(
            model.SerializeToString(), session_options(1), providers=["CPUExecutionProvider"]
        )

    def of(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The sums for rows of the columns: rows by outputs."""
        sums: NDArray[Any] = self._session.run(None, {"x": columns})[0]
        return sums
