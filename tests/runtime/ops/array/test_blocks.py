import pytest
from tests.runtime.cases import bf16, case, check, checks, i32, i64, numbers, run, sized, strings
from tests.runtime.programs import islands_of, session_of

import tfport

NONE = i32([0, 0], [0, 0])

CASES = [
    case("SpaceToBatch", numbers(2, 4, 6, 3), NONE, block_size=2),
    case("SpaceToBatch", numbers(2, 3, 5, 1), i32([1, 0], [0, 1]), block_size=2),
    case("SpaceToBatch", numbers(2, 3, 5, 1), NONE, block_size=2, fails=True),
    sized("SpaceToBatchND", numbers(2, 4, 6, 3), i32(2, 3), NONE),
    sized("SpaceToBatchND", numbers(2, 3, 5), i64(2), i32([1, 2])),
    sized("SpaceToBatchND", numbers(2, 4), i32(2), i32([0, 0])),
    sized("SpaceToBatchND", numbers(1, 2, 3, 4, 2), i32(2, 3, 4), i32([0, 0], [0, 0], [0, 0])),
    sized("SpaceToBatchND", bf16([[1], [2]]), i32(2), i32([0, 0])),
    sized("SpaceToBatchND", numbers(2, 3, 5), i32(2), i32([0, 0]), fails=True),
    sized("SpaceToBatchND", numbers(2, 3, 5), i32(0), i32([0, 0]), fails=True),
    sized("SpaceToBatchND", numbers(2, 4, 5), i32(2), i32([-1, 1]), fails=True),
    case("BatchToSpace", numbers(8, 2, 3, 3), NONE, block_size=2),
    case("BatchToSpace", numbers(4, 2, 3, 1), i32([1, 0], [0, 1]), block_size=2),
    case("BatchToSpace", numbers(6, 2, 3, 1), NONE, block_size=2, fails=True),
    sized("BatchToSpaceND", numbers(12, 2, 3, 2), i32(2, 3), i32([1, 0], [0, 2])),
    sized("BatchToSpaceND", numbers(4, 2, 3), i64(2), i32([0, 0])),
    sized("BatchToSpaceND", numbers(4, 2, 3), i32(2), i32([3, 1])),
    sized("BatchToSpaceND", numbers(4, 2, 3), i32(2), i32([3, 2]), fails=True),
    sized("BatchToSpaceND", numbers(3, 2, 3), i32(2), i32([0, 0]), fails=True),
    case("SpaceToDepth", numbers(2, 4, 6, 3), block_size=2),
    case("SpaceToDepth", numbers(0, 4, 6, 3), block_size=2),
    case("SpaceToDepth", numbers(1, 3, 6, 3, kind="uint8", low=0, high=9), block_size=3),
    case("SpaceToDepth", strings([[["a"], ["b"]], [["c"], ["d"]]]), block_size=2),
    case("SpaceToDepth", numbers(2, 3, 6, 3), block_size=2, fails=True),
    case("DepthToSpace", numbers(2, 2, 3, 12), block_size=2),
    case("DepthToSpace", numbers(1, 1, 2, 9, kind="int32", low=0, high=9), block_size=3),
    case("DepthToSpace", numbers(2, 2, 3, 10), block_size=2, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_blocks(c, ways):
    check("blocks", c, ways)


COMPUTED = """
    x = Placeholder() {{dtype=float32, shape=(?, ?, ?, 3)}}
    around = Placeholder() {{dtype=int32, shape=(2, 2)}}
    block = Const() {{dtype=int32, value=int32(2)[2, 3]}}
    y = {op}(x, block, around) {{T=float32, Tblock_shape=int32, {type}=int32}}
"""
BLOCK_OPS = {"SpaceToBatchND": "Tpaddings", "BatchToSpaceND": "Tcrops"}


def computed(op, x, around, **options):
    session = session_of(COMPUTED.format(op=op, type=BLOCK_OPS[op]), **options)
    return session.run("y:0", {"x:0": x, "around:0": around})


@pytest.mark.parametrize(
    ("op", "x", "around"),
    [
        ("SpaceToBatchND", numbers(2, 4, 6, 3), NONE),
        ("SpaceToBatchND", numbers(2, 3, 5, 3), i32([1, 0], [0, 1])),
        ("SpaceToBatchND", numbers(1, 1, 1, 3), i32([2, 1], [2, 3])),
        ("BatchToSpaceND", numbers(12, 2, 3, 3), NONE),
        ("BatchToSpaceND", numbers(6, 2, 3, 3), i32([1, 0], [0, 2])),
        ("BatchToSpaceND", numbers(6, 1, 2, 3), i32([1, 1], [0, 5])),
    ],
)
def test_computed_paddings_and_crops_are_lowered(op, x, around):
    (island,) = islands_of(COMPUTED.format(op=op, type=BLOCK_OPS[op]), ["y:0"], ["x:0", "around:0"])
    assert {node.op_type for node in island.graph.node} >= {"Reshape", "Transpose"}
    assert (computed(op, x, around) == computed(op, x, around, engine="none")).all()


@pytest.mark.parametrize(
    ("op", "x", "around"),
    [
        ("SpaceToBatchND", numbers(1, 3, 6, 3), NONE),
        ("SpaceToBatchND", numbers(1, 4, 6, 3), i32([-1, 1], [0, 0])),
        ("SpaceToBatchND", numbers(1, 4, 6, 3), i32([-2, 0], [0, 0])),
        ("BatchToSpaceND", numbers(5, 2, 3, 3), NONE),
        ("BatchToSpaceND", numbers(6, 2, 3, 3), i32([3, 2], [0, 0])),
        ("BatchToSpaceND", numbers(6, 2, 3, 3), i32([0, 0], [0, -1])),
    ],
)
def test_wrong_computed_paddings_and_crops_fail_as_on_the_host(op, x, around):
    with pytest.raises(tfport.Error) as expected:
        computed(op, x, around, engine="none")
    with pytest.raises(tfport.Error) as actual:
        computed(op, x, around)
    assert str(actual.value) == str(expected.value)


@pytest.mark.parametrize("op", ["SpaceToDepth", "DepthToSpace"])
@pytest.mark.parametrize("way", ["engine", "host"])
def test_channels_first_is_the_same_turned(op, way):
    """TensorFlow has it on GPUs only."""
    x = numbers(2, 4, 6, 12)
    (last,) = run(case(op, x, block_size=2), way)
    (first,) = run(case(op, x.transpose(0, 3, 1, 2), block_size=2, data_format="NCHW"), way)
    assert (first == last.transpose(0, 3, 1, 2)).all()
