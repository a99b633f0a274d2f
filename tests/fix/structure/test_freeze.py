from tests.recorded_models import shared

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.options import FixOptions
from tfport.formats.checkpoint.bundle import Bundle


def test_the_memory_of_weights_that_became_constants_is_released(monkeypatch):
    (target,) = resolve_targets("tensorflow==1.15.5")
    released = []
    monkeypatch.setattr(Bundle, "release_memory", lambda self: released.append(self))
    frozen = attempt(shared("keras_sequential"), target, ModelForm.FROZEN, FixOptions(freeze=True)).model
    assert frozen.checkpoint_prefix is None
    assert released == [frozen.checkpoint]
    released.clear()
    tfport.Session(frozen)
    assert set(released) == {frozen.checkpoint}
