"""Graphs with one XlaCallModule node, rewritten for a release."""

from tests.runtime.ops.xla.test_call_module import module_graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.options import FixOptions


def rewritten(module, inputs, kinds, target, form=ModelForm.LOWERED, **attrs):
    """The attempt to write a module as ops of a release."""
    model = tfport.load(module_graph(module, inputs, kinds, **attrs).SerializeToString())
    options = FixOptions(fetches=tuple(f"y:{i}" for i in range(len(kinds))))
    return attempt(model, resolve_targets(target)[0], form, options)


def run(model, inputs, count):
    """The results of the node `y`."""
    feeds = {f"x{i}:0": array for i, array in enumerate(inputs) if f"x{i}" in model.graph}
    return tfport.Session(model).run([f"y:{i}" for i in range(count)], feeds)
