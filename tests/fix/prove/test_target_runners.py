"""Which runners a target has: Pythons that the user names, or the wheel of the target."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.certify.provenance import Wheel
from tfport.fix.certify.tensorflow_runner import TensorFlow
from tfport.fix.keras.keras_runner import KerasRunner
from tfport.fix.lite.interpreter import LiteInterpreter
from tfport.fix.options import FixOptions
from tfport.fix.prove import target_runners as module
from tfport.fix.prove.environments import CannotProve, PackageRelease, ReleaseEnvironment
from tfport.fix.prove.target_runners import is_provable, target_runners


def target(text):
    return resolve_targets(text)[0]


@pytest.mark.parametrize(
    ("runner", "text", "release"),
    [
        (TensorFlow, "tensorflow==1.15.5", PackageRelease("tensorflow", "1.15.5", ["3.6", "3.7"])),
        (TensorFlow, "tensorflow-gpu==1.15.5", PackageRelease("tensorflow-gpu", "1.15.5", ["3.6", "3.7"])),
        (LiteInterpreter, "tflite-runtime==2.7.0", PackageRelease("tflite-runtime", "2.7.0")),
        (LiteInterpreter, "tensorflow==1.15.5", PackageRelease("tensorflow", "1.15.5", ["3.6", "3.7"])),
        (KerasRunner, "keras==2.3.1", PackageRelease("keras", "2.3.1", ["3.6", "3.7"])),
        (KerasRunner, "tensorflow==1.15.5", PackageRelease("tensorflow", "1.15.5", ["3.6", "3.7"])),
    ],
)
def test_the_release_of_a_proof(monkeypatch, runner, text, release):
    asked = []

    def environment(release, progress):
        asked.append(release)
        return ReleaseEnvironment(sys.executable, Wheel("w.whl", "a" * 64))

    monkeypatch.setattr(module, "release_environment", environment)
    (made,) = target_runners(runner, target(text), FixOptions(prove=True))
    assert asked == [release]
    assert isinstance(made, runner)
    assert (made.facts.runs, made.facts.is_target, made.facts.expected) == (10, True, release.version)
    assert made.facts.wheel is not None
    assert is_provable(target(text))


def test_the_keras_of_a_tensorflow_is_installed_with_it():
    assert KerasRunner.release_of(target("tensorflow==2.8.4")) == ("tensorflow", "2.8.4")
    assert KerasRunner.version_of(target("tensorflow==2.8.4")) == "2.8.0"


def test_a_python_that_the_user_names_is_used_as_it_is():
    options = FixOptions(pythons=(sys.executable,))
    (runner,) = target_runners(TensorFlow, target("tensorflow==1.15.5"), options)
    assert (runner.facts.runs, runner.facts.expected, runner.facts.wheel) == (1, "1.15.5", None)
    options = FixOptions(pythons=(sys.executable,), prove=True, runs=3)
    (runner,) = target_runners(TensorFlow, target("tensorflow-serving==1.12"), options)
    assert runner.facts.runs == 3


def test_a_python_may_be_named_from_the_current_folder(monkeypatch):
    """It is started in another folder."""
    monkeypatch.chdir(Path(sys.executable).parent)
    options = FixOptions(pythons=(f"./{Path(sys.executable).name}",))
    (runner,) = target_runners(TensorFlow, target("tensorflow==1.15.5"), options)
    assert runner.python == sys.executable


def test_without_either_there_is_none():
    assert target_runners(TensorFlow, target("tensorflow==1.15.5"), FixOptions()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tensorflow-serving==1.12", "which this target does not have"),
        ("tools/truth/rewrites/small_build.h@tensorflow==1.4.1", "which this target does not have"),
        ("tensorflow==2.8.4 tensorflow-text==2.8.2", "does not load add-on packages"),
    ],
)
def test_targets_that_cannot_be_proved_say_so(text, words):
    with pytest.raises(CannotProve, match=words):
        target_runners(TensorFlow, target(text), FixOptions(prove=True))
    assert not is_provable(target(text))
