"""Execute a Python file that the user named, for the options `--rules` and `--ops`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from tfport.errors import Error


def execute(path: str, content: str) -> ModuleType:
    """Execute a file as a module; `content` says what it should declare.

    Any error in the file becomes an `Error` with the line that raised it.
    """
    file = Path(path)
    spec = importlib.util.spec_from_file_location(f"tfport_file_{file.stem}", path)
    if spec is None or spec.loader is None or not file.is_file():
        raise Error(f"{path}: expected a Python file with {content}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line = _line(error, path)
        where = f"{path}, line {line}" if line else path
        message = error.msg if isinstance(error, SyntaxError) else error
        raise Error(f"{where}: {type(error).__name__}: {message}") from error
    return module


def _line(error: Exception, path: str) -> int | None:
    """The last line of the file that led to an error."""
    if isinstance(error, SyntaxError):
        return error.lineno if error.filename == path else None
    lines = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return lines[-1] if lines else None
