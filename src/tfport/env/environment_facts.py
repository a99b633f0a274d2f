"""The relevant facts of an environment, by label; empty text where a fact is unknown."""

from __future__ import annotations

from tfport.atlas.environment import Environment
from tfport.env.python_packages import keras_of
from tfport.env.system import machine_of


def environment_facts(environment: Environment) -> dict[str, str]:
    """The versions of everything that is compared."""
    system, target = environment.system, environment.target
    tensorflow = target.build if target else None
    return {
        "tensorflow": target.name.partition(" + ")[0].removeprefix("tensorflow ") if target else "",
        **({build.package: build.version for build in target.addons} if target else {}),
        "Keras": keras_of(environment)[1],
        "tf-keras": environment.version_text("tf-keras"),
        "Python": environment.python,
        "numpy": environment.version_text("numpy"),
        "protobuf": environment.version_text("protobuf"),
        "CUDA": environment.cuda.get("cudart", ""),
        "cuDNN": environment.cuda.get("cudnn", ""),
        "GLIBC": system.glibc or system.libc,
        "GLIBCXX": system.glibcxx,
        "CXXABI": system.cxxabi,
        "C++ ABI": _abi(tensorflow.facts.get("cxx11_abi")) if tensorflow else "",
        "machine": machine_of(environment),
    }


def _abi(new: bool | None) -> str:
    return "" if new is None else "new" if new else "old"
