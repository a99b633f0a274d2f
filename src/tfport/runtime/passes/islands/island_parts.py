"""Cut an island: models for ONNX Runtime, and operations for other libraries or shares of another engine.

Operations are convolutions for cuDNN (`fused_convolution`) or products for cuBLASLt (`fused_product`). Images
that pass between parts have their channels last if a convolution reads or writes them.

Between two engines, an island is divided into models that run one after another. A node that the other engine
may not compute, and all that lies between two such nodes, cut an island into stages. The other engine gets
the stages with much of the work, which in a network for images are one or two; whatever comes before, between
and after them stays in the usual engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import groupby

from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import reads_of
from tfport.runtime.onnx.island_work import IslandWork, island_work
from tfport.runtime.onnx.least_size import least_size
from tfport.runtime.onnx.model import OnnxModel, border_type
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.fused_convolution import FusedConvolution, fused_convolutions
from tfport.runtime.passes.islands.fused_product import FusedProduct, fused_products
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass, replace

CHANNELS_LAST, CHANNELS_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
LEAST_PRODUCTS = 4
"""Products from which it pays to cut an island."""
LEAST_PART = 0.2
"""The part of an island's heavy nodes that a stage must have, to be worth another model."""
HEAVY = frozenset(["Conv", "ConvTranspose", "GRU", "Gemm", "LSTM", "MatMul"])


@dataclass(frozen=True, slots=True, eq=False)
class ModelPart:
    """Nodes as a model of their own."""

    model: OnnxModel
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]


Operation = FusedConvolution | FusedProduct
Part = ModelPart | Operation


@dataclass(frozen=True, slots=True, eq=False)
class IslandParts:
    """The parts of an island in the order in which they run, and what goes in and comes out."""

    parts: Sequence[Part]
    inputs: Sequence[Operand]
    outputs: Sequence[Operand]

    @property
    def models(self) -> int:
        """How many parts ONNX Runtime computes."""
        return sum(isinstance(part, ModelPart) for part in self.parts)

    @property
    def pays(self) -> bool:
        """Whether it is faster than one model.

        cuDNN must take most convolutions together with nodes after them, and several in a row. It computes a
        convolution alone no faster than ONNX Runtime does with cuDNN, and ONNX Runtime computes less well
        what is cut into small parts (Xception on an H200, 40 convolutions and as many models: 1.03 in place
        of 0.95 ms).
        """
        if sum(isinstance(part, FusedProduct) for part in self.parts) >= LEAST_PRODUCTS:
            return True
        lengths = [len(part.nodes) for part in self.parts if isinstance(part, FusedConvolution)]
        longer = sum(length > 1 for length in lengths)
        return bool(lengths) and 2 * longer >= len(lengths) and self.models <= len(lengths) / 2 + 1


_Item = OnnxNode | Operation


def parts_with_convolutions(
    nodes: Sequence[OnnxNode], inputs: Sequence[Operand], outputs: Sequence[Operand]
) -> IslandParts:
    return _in_stages(_Borders(nodes, outputs).items, inputs, outputs)


def parts_with_products(
    nodes: Sequence[OnnxNode], inputs: Sequence[Operand], outputs: Sequence[Operand]
) -> IslandParts:
    products = fused_products(nodes, outputs)
    taken = {node for product in products for node in product.nodes}
    first = {product.nodes[0]: product for product in products}
    items: list[_Item] = []
    for node in nodes:
        if node in first:
            items.append(first[node])
        elif node not in taken:
            items.append(node)
    return _in_stages(items, inputs, outputs)


def _in_stages(items: Sequence[_Item], inputs: Sequence[Operand], outputs: Sequence[Operand]) -> IslandParts:
    """Models and operations in turn, each with as much as it can have."""
    stages: defaultdict[int, list[_Item]] = defaultdict(list)
    stage_of: dict[Operand, int] = {}
    for item in _live(items, outputs):
        is_operation = not isinstance(item, OnnxNode)
        stage = int(is_operation)
        for operand in _reads(item):
            before = stage_of.get(operand, 0)
            stage = max(stage, before + (before % 2 != is_operation))
        stages[stage].append(item)
        stage_of.update(dict.fromkeys(item.outputs, stage))
    needed = [set(outputs)]
    """What the parts after each one need, the last first."""
    for stage in sorted(stages, reverse=True):
        needed.append(needed[-1] | {o for item in stages[stage] for o in _reads(item)})
    parts: list[Part] = []
    for number, stage in enumerate(sorted(stages)):
        parts += _parts(stages[stage], needed[len(stages) - number - 1])
    return IslandParts(parts, inputs, outputs)


def _live(items: Sequence[_Item], outputs: Sequence[Operand]) -> list[_Item]:
    """Those whose results are needed: products do not read what is reshaped and reshaped back."""
    needed, live = set(outputs), []
    for item in reversed(items):
        if not needed.isdisjoint(item.outputs):
            live.append(item)
            needed.update(_reads(item))
    return live[::-1]


def _parts(items: Sequence[_Item], needed: set[Operand]) -> list[Part]:
    """A model of the nodes, or the operations."""
    nodes = [item for item in items if isinstance(item, OnnxNode)]
    if not nodes:
        return [item for item in items if not isinstance(item, OnnxNode)]
    return [model_part(nodes, needed, NodeForms.PLAIN, keeps_bfloat16=True)]


def model_part(
    nodes: Sequence[OnnxNode], needed: Container[Operand], forms: NodeForms, *, keeps_bfloat16: bool = False
) -> ModelPart:
    """A model of some nodes of an island; what others need of them are its outputs."""
    written = {o for node in nodes for o in node.outputs}
    reads = dict.fromkeys(o for node in nodes for o in reads_of(node) if o not in written)
    inputs, outputs = tuple(reads), tuple(o for node in nodes for o in node.outputs if o in needed)
    model = island_model(nodes, inputs, outputs, forms=forms, keeps_bfloat16=keeps_bfloat16)
    return ModelPart(model, inputs, outputs)


def _reads(item: _Item) -> Iterable[Operand]:
    return reads_of(item) if isinstance(item, OnnxNode) else item.inputs


class _Borders:
    """The nodes and convolutions of an island, with transposes where one reads what the other writes."""

    def __init__(self, nodes: Sequence[OnnxNode], outputs: Sequence[Operand]) -> None:
        convolutions = fused_convolutions(nodes, outputs)
        taken = {node for conv in convolutions for node in conv.nodes}
        last = {conv.nodes[-1]: conv for conv in convolutions}
        self._written = {conv.output for conv in convolutions}
        self._last: dict[Operand, Operand] = {}
        """Images with their channels last."""
        self._first: set[Operand] = set()
        """Results of convolutions that exist with their channels first too."""
        self.items: list[_Item] = []
        for node in nodes:
            if node in last:
                self._add_convolution(last[node])
            elif node not in taken:
                self._add_node(node)
        for operand in outputs:
            self._with_channels_first(operand)

    def _add_convolution(self, conv: FusedConvolution) -> None:
        x = self._with_channels_last(conv.x, conv.weights.shape[-1])
        shortcut = conv.shortcut and self._with_channels_last(conv.shortcut, len(conv.weights))
        self._last[conv.output] = output = _with_last(conv.output)
        self.items.append(replace(conv, x=x, shortcut=shortcut, output=output))

    def _add_node(self, node: OnnxNode) -> None:
        for operand in reads_of(node):
            self._with_channels_first(operand)
        self.items.append(node)

    def _with_channels_first(self, operand: Operand) -> None:
        """Make a result of a convolution one that nodes of ONNX can read."""
        if operand in self._written and operand not in self._first:
            self._first.add(operand)
            perm = {"perm": CHANNELS_FIRST}
            self.items.append(OnnxNode("Transpose", (self._last[operand],), (operand,), perm))

    def _with_channels_last(self, operand: Operand, channels: int) -> Operand:
        if operand not in self._last:
            b = Builder("image")
            image, known = operand, operand.shape[1] if operand.shape is not None else None
            if known is not None and known != channels:
                wide = b.cast(operand, border_type(operand.dtype))  # GPUs have no kernel that pads bfloat16
                image = b.cast(b.Pad(wide, b.ints(*[0] * 5, channels - known, 0, 0)), operand.dtype)
            self._last[operand] = b.Transpose(image, perm=CHANNELS_LAST)
            self.items += b.added
        return self._last[operand]


def _with_last(operand: Operand) -> Operand:
    assert operand.shape is not None
    shape = [operand.shape[axis] for axis in CHANNELS_LAST]
    return Operand(operand.dtype, shape, name=operand.name.partition("#")[0])


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A model of some nodes of an island, and who may compute it."""

    elsewhere: bool
    """Whether the other engine may."""
    part: ModelPart
    work: IslandWork
    least_size: int
    """See `IslandHints`."""


def island_shares(
    nodes: Sequence[OnnxNode],
    outputs: Sequence[Operand],
    may_run_elsewhere: Callable[[OnnxNode], bool],
    forms: NodeForms,
) -> list[Share]:
    """The shares of an island in the order in which they run; at most one, the whole, without `elsewhere`.

    `forms`: which nodes the other engine gets.
    """
    stages = _stages(nodes, may_run_elsewhere)
    heavy = {number: sum(node.op in HEAVY for node in stage) for number, stage in stages.items()}
    least = max(1.0, LEAST_PART * sum(heavy.values()))

    def is_elsewhere(number: int) -> bool:
        return number % 2 == 1 and heavy[number] >= least

    groups = [
        (elsewhere, [node for number in numbers for node in stages[number]])
        for elsewhere, numbers in groupby(sorted(stages), is_elsewhere)
    ]
    shares: list[Share] = []
    needed = set(outputs)
    for elsewhere, of_group in reversed(groups):
        part = model_part(of_group, needed, forms if elsewhere else NodeForms.FASTEST)
        shares.append(Share(elsewhere, part, island_work(of_group, part.inputs), least_size(of_group)))
        needed.update(part.inputs)
    return shares[::-1]


def _stages(
    nodes: Sequence[OnnxNode], may_run_elsewhere: Callable[[OnnxNode], bool]
) -> dict[int, list[OnnxNode]]:
    """The nodes by stage, each as early as possible; those of odd stages may run elsewhere.

    After a node that may not, the next such stage begins with a heavy node.
    """
    stages: defaultdict[int, list[OnnxNode]] = defaultdict(list)
    stage_of: dict[Operand, int] = {}
    for node in nodes:
        own = int(may_run_elsewhere(node))
        stage = max((stage_of[o] for o in reads_of(node) if o in stage_of), default=own)
        if stage % 2 != own and (not own or node.op in HEAVY):
            stage += 1
        stages[stage].append(node)
        stage_of.update(dict.fromkeys(node.outputs, stage))
    return stages
