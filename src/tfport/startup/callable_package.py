"""A package that is also a function: `tfport.check(…)` beside `tfport.check.loaders`.

    @callable_package("tfport.check")
    def check(model: Model, on: str) -> CheckReport: …

The name then refers to the package, and calling the package calls the function. Type checkers
see the signature of the function.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast

Params = ParamSpec("Params")
Result_co = TypeVar("Result_co", covariant=True)


class CallablePackage(ModuleType, Generic[Params, Result_co]):
    """A package that calls `__wrapped__`, the function of its name; `inspect.signature` finds it there."""

    __wrapped__: Callable[..., Any]

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What `help` shows: the signature of the function and its documentation."""
        from inspect import getdoc, signature  # slow to import

        function = self.__wrapped__
        called = signature(function)
        lines = "".join(f"    {parameter},\n" for parameter in called.parameters.values())
        declared = f"{function.__name__}(\n{lines}) -> {called.return_annotation}".replace("'", "")
        return f"{declared}\n\n{getdoc(function)}"

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result_co:
        result: Result_co = self.__wrapped__(*args, **kwargs)
        return result

    def __getattr__(self, name: str) -> Any:
        """Import a module of the package when it is first used: `tfport.fix.rule`."""
        module = f"{self.__name__}.{name}"
        if name.startswith("_") or find_spec(module) is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return importlib.import_module(module)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by name, as a function is."""
        return importlib.import_module, (self.__name__,)


def callable_package(
    name: str,
) -> Callable[[Callable[Params, Result_co]], CallablePackage[Params, Result_co]]:
    """Replace the decorated function by the package of this name, which then calls the function."""

    def replace(function: Callable[Params, Result_co]) -> CallablePackage[Params, Result_co]:
        importlib.import_module(name)
        package = cast("CallablePackage[Params, Result_co]", sys.modules[name])
        package.__class__ = CallablePackage
        package.__wrapped__ = function
        return package

    return replace
