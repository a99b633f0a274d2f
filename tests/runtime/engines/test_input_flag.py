import numpy as np
import pytest

from tfport.runtime.engines.engine import NumbersRefused, check_flag


@pytest.mark.parametrize("flag", [np.int32(0), np.float32(0), np.float32(-0.0)])
def test_zero_is_no_flag(flag):
    check_flag(flag)


@pytest.mark.parametrize("flag", [np.int32(3), np.float32(np.nan)])
def test_what_is_not_zero_is_one(flag):
    with pytest.raises(NumbersRefused, match="out of range, or a recurrent layer"):
        check_flag(flag)
