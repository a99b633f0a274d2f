"""Small TensorFlow Lite models, written by hand: the questions of `lite_probe`.

Needs only the standard library since Python 3.6. A table is `Table(slot=(format, value))`, with a value
that is another object for an offset; `write` lays the objects out, every one after those that refer to it.
"""

import struct

CODES = range(320)
CUSTOM = 32
PLACEHOLDER = 127
FLOAT = 0
ADD_OPTIONS = 11
XNNPACK_CUSTOM = (
    "Convolution2DTransposeBias", "MaxPoolingWithArgmax2D", "MaxUnpooling2D",
    "odml.scaled_dot_product_attention",
)  # fmt: skip
EMPTY_MAP = b"\0\0\1\0\0\x24\1"
"""A flexbuffer without entries."""


class Table:
    """A flatbuffer table: `{slot: (struct format, value)}`; an offset has the format `O`."""

    def __init__(self, fields):
        self.fields = fields


class Vector:
    """A flatbuffer vector, of scalars of one format or of objects (`O`)."""

    def __init__(self, kind, items):
        self.kind, self.items = kind, list(items)


class String(str):
    """A flatbuffer string."""


def write(root):
    """The bytes of a model."""
    out = bytearray(b"\0\0\0\0TFL3")
    _refer(out, 0, _put(out, root))
    return bytes(out)


def _put(out, item):
    if isinstance(item, Table):
        return _put_table(out, item)
    children = []
    if isinstance(item, String):
        _align(out, 4)
        at, data = len(out), item.encode()
        out += struct.pack("<I", len(data)) + data + b"\0"
        return at
    size = 4 if item.kind == "O" else struct.calcsize("<" + item.kind)
    while (len(out) + 4) % max(size, 4):
        out += b"\0"
    at = len(out)
    out += struct.pack("<I", len(item.items))
    for value in item.items:
        if item.kind == "O":
            children.append((len(out), value))
            out += b"\0\0\0\0"
        else:
            out += struct.pack("<" + item.kind, value)
    _put_children(out, children)
    return at


def _put_table(out, table):
    layout, size = {}, 4
    for slot, (kind, _) in sorted(table.fields.items()):
        width = 4 if kind == "O" else struct.calcsize("<" + kind)
        size += -size % width
        layout[slot] = size
        size += width
    count = max(layout) + 1 if layout else 0
    vtable = struct.pack("<HH", 4 + 2 * count, size)
    vtable += b"".join(struct.pack("<H", layout.get(slot, 0)) for slot in range(count))
    while (len(out) + len(vtable)) % 8:
        out += b"\0"
    start = len(out)
    out += vtable
    at = len(out)
    out += struct.pack("<i", at - start) + bytes(size - 4)
    children = []
    for slot, (kind, value) in table.fields.items():
        where = at + layout[slot]
        if kind == "O":
            children.append((where, value))
        else:
            struct.pack_into("<" + kind, out, where, value)
    _put_children(out, children)
    return at


def _put_children(out, children):
    for where, child in children:
        _refer(out, where, _put(out, child))


def _refer(out, where, target):
    struct.pack_into("<I", out, where, target - where)


def _align(out, size):
    out += bytes(-len(out) % size)


def _model(codes, subgraph, schema=3, buffers=()):
    return write(
        Table(
            {
                0: ("I", schema),
                1: ("O", Vector("O", codes)),
                2: ("O", Vector("O", [subgraph])),
                3: ("O", String("probe")),
                4: ("O", Vector("O", [Table({}), *buffers])),
            }
        )
    )


def _code(number, version=1):
    return Table({0: ("b", min(number, PLACEHOLDER)), 2: ("i", version), 3: ("i", number)})


def _custom(name):
    return Table({0: ("b", CUSTOM), 1: ("O", String(name)), 2: ("i", 1), 3: ("i", CUSTOM)})


def _subgraph(tensors=(), inputs=(), outputs=(), operators=()):
    return Table(
        {
            0: ("O", Vector("O", tensors)),
            1: ("O", Vector("i", inputs)),
            2: ("O", Vector("i", outputs)),
            3: ("O", Vector("O", operators)),
            4: ("O", String("main")),
        }
    )


def _tensor(shape, kind=FLOAT, buffer=0, name="t"):
    return Table({0: ("O", Vector("i", shape)), 1: ("b", kind), 2: ("I", buffer), 3: ("O", String(name))})


def _operator(index, inputs, outputs, options=None, custom=None):
    fields = {0: ("I", index), 1: ("O", Vector("i", inputs)), 2: ("O", Vector("i", outputs))}
    if options is not None:
        fields.update({3: ("B", options), 4: ("O", Table({}))})
    if custom is not None:
        fields[5] = ("O", Vector("B", custom))
    return Table(fields)


def schema_model(schema):
    """A model that says it has this version of the schema."""
    return _model([], _subgraph(), schema)


def type_model(kind):
    """A model with one tensor of a type, by its number."""
    return _model([], _subgraph([_tensor([1], kind)]))


def opcode_model(codes):
    """A model whose table has these pairs of number and version, and no operator."""
    return _model([_code(number, version) for number, version in codes], _subgraph())


def custom_model(*names):
    """A model with one operator for each custom op, without inputs and outputs."""
    operators = [_operator(i, [], [], custom=b"") for i in range(len(names))]
    return _model([_custom(name) for name in names], _subgraph(operators=operators))


def add_model():
    """A float addition of two inputs."""
    tensors = [_tensor([1, 4], name=name) for name in "xyz"]
    return _model([_code(0)], _subgraph(tensors, [0, 1], [2], [_operator(0, [0, 1], [2], ADD_OPTIONS)]))


def xnnpack_model(name):
    """A model of one custom op that XNNPACK can take, with static shapes and its parameters."""
    if name == "Convolution2DTransposeBias":
        # TfLiteTransposeConvParams: padding (same), stride width, stride height
        weights = Table({0: ("O", Vector("B", struct.pack("<16f", *range(16))))})
        bias = Table({0: ("O", Vector("B", struct.pack("<1f", 0)))})
        tensors = [
            _tensor([1, 4, 4, 4]), _tensor([1, 2, 2, 4], buffer=1), _tensor([1], buffer=2),
            _tensor([1, 8, 8, 1]),
        ]  # fmt: skip
        options = struct.pack("<iii", 1, 2, 2)
        operator = _operator(0, [0, 1, 2], [3], custom=options)
        return _model([_custom(name)], _subgraph(tensors, [0], [3], [operator]), buffers=[weights, bias])
    if name == "odml.scaled_dot_product_attention":
        sizes = [1, 3, 4, 4], [1, 5, 4, 4], [1, 5, 4, 4], [1, 1, 3, 5], [1, 3, 4, 4]
        operator = _operator(0, [0, 1, 2, 3], [4], custom=EMPTY_MAP)
        return _model(
            [_custom(name)], _subgraph([_tensor(list(s)) for s in sizes], [0, 1, 2, 3], [4], [operator])
        )
    # TfLitePoolParams: padding (valid), strides (width, height), filter (width, height), activation, computed
    options = struct.pack("<10i", 2, 2, 2, 2, 2, 0, 0, 0, 0, 0)
    large, small, indices = _tensor([1, 4, 4, 4]), _tensor([1, 2, 2, 4]), _tensor([1, 2, 2, 4])
    if name == "MaxPoolingWithArgmax2D":
        operator = _operator(0, [0], [1, 2], custom=options)
        return _model([_custom(name)], _subgraph([large, small, indices], [0], [1, 2], [operator]))
    operator = _operator(0, [0, 1], [2], custom=options)
    return _model([_custom(name)], _subgraph([small, indices, large], [0, 1], [2], [operator]))


def flex_model():
    """A model of the Flex op Erf, with its NodeDef."""
    node_def = b"\n\x03erf\x12\x03Erf\x1a\x01x*\x07\n\x01T\x12\x020\x01"
    tensors = [_tensor([1, 4], name=name) for name in "xy"]
    operator = _operator(0, [0], [1], custom=_flexbuffer(b"Erf", node_def))
    return _model([_custom("FlexErf")], _subgraph(tensors, [0], [1], [operator]))


def _flexbuffer(*strings):
    """A flexbuffer with a vector of short strings."""
    out, starts = bytearray(), []
    for text in strings:
        out.append(len(text))
        starts.append(len(out))
        out += text + b"\0"
    out.append(len(strings))
    vector = len(out)
    for start in starts:
        out.append(len(out) - start)
    out += bytes([5 << 2] * len(strings))
    out += bytes([len(out) - vector, 10 << 2, 1])
    return bytes(out)
