import pytest
from tests.runtime.cases import bf16, case, check, checks, i32, i64, numbers, run, sized, strings

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


@pytest.mark.parametrize(("c", "way"), checks(CASES))
def test_blocks(c, way):
    check("blocks", c, way)


@pytest.mark.parametrize("op", ["SpaceToDepth", "DepthToSpace"])
@pytest.mark.parametrize("way", ["engine", "host"])
def test_channels_first_is_the_same_turned(op, way):
    """TensorFlow has it on GPUs only."""
    x = numbers(2, 4, 6, 12)
    (last,) = run(case(op, x, block_size=2), way)
    (first,) = run(case(op, x.transpose(0, 3, 1, 2), block_size=2, data_format="NCHW"), way)
    assert (first == last.transpose(0, 3, 1, 2)).all()
