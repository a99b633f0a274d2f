"""The signatures of a servable, without the model: all that reading a request needs."""

from __future__ import annotations

from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.status import invalid_argument
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ServableInterface:
    """The name and the signatures of a servable; it can be sent to another process."""

    name: str
    signatures: dict[str, Signature]

    def signature(self, name: str = "") -> Signature:
        """Return the signature of this name; the default one if the name is empty."""
        wanted = name or DEFAULT
        if wanted not in self.signatures:
            raise invalid_argument(f'Serving signature name: "{wanted}" not found in signature def')
        return self.signatures[wanted]
