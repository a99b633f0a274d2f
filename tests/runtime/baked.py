"""Cases with constant weights, as networks have them: sizes known, unknown, all fed, and on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.runtime.cases import Case

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import encode
from tfport.graph.tensors import Tensor

WAYS = ("static", "dynamic", "fed", "host")


class Baked(Case):
    """All inputs but those named in `fed` are constants; `dynamic` leaves only the size of channels known."""

    fed: tuple[int, ...] = (0,)
    wanted: int | None = None

    def __str__(self) -> str:
        return super().__str__() + (f"-{self.wanted}" if self.wanted else "")

    def outputs(self) -> list[str]:
        return super().outputs()[: self.wanted]

    def model(self, way: str) -> tuple[pb.GraphDef, dict[str, Any]]:
        if way not in ("static", "dynamic"):
            return super().model(way)
        made, feeds = pb.GraphDef(), {}
        made.versions.producer = 2474
        node = pb.NodeDef(name="node", op=self.op)
        for name, value in self._attributes().items():
            node.attr[name].CopyFrom(encode(value))
        for i, (array, dtype) in enumerate(self._flat()):
            name = f"in{i}"
            node.input.append(name)
            if i not in self.fed:
                constant = made.node.add(name=name, op="Const")
                constant.attr["dtype"].type = dtype.number
                constant.attr["value"].tensor.CopyFrom(Tensor.from_numpy(array, dtype).to_proto())
                continue
            fed = made.node.add(name=name, op="Placeholder")
            fed.attr["dtype"].type = dtype.number
            fed.attr["shape"].shape.SetInParent()
            for size in self._sizes(array.shape, way):
                fed.attr["shape"].shape.dim.add(size=size)
            feeds[f"{name}:0"] = array
        made.node.append(node)
        return made, feeds

    def _sizes(self, shape: tuple[int, ...], way: str) -> list[int]:
        """What the graph tells of a shape: all but the batch, or channels alone."""
        second = str(self.attrs.get("data_format", "")).startswith(("NC", "CHANNELS_FIRST"))
        channel = 1 if second else len(shape) - 1
        return [n if i and (way == "static" or i == channel) else -1 for i, n in enumerate(shape)]


def baked(op: str, *inputs: Any, fed: tuple[int, ...] = (0,), **said: Any) -> Baked:
    """A node with constant weights; `fed`: places of inputs that are not; `wanted`: how many outputs."""
    wanted = said.pop("wanted", None)
    options = {k: said.pop(k) for k in ("types", "ulps", "rtol", "atol", "fails", "ways") if k in said}
    options.setdefault("ways", WAYS)
    arrays = [i if isinstance(i, list) else np.asarray(i) for i in inputs]
    made = Baked(op, arrays, said, **options)
    made.fed, made.wanted = fed, wanted
    return made
