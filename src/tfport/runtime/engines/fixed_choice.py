"""A choice that the user made, in place of those that races make."""

from __future__ import annotations

from tfport.runtime.engines.choice_cache import Choice, ChoiceCache


class FixedChoice(ChoiceCache):
    """The same choice for every island."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(None)
        self._choice = choice

    def get(self, key: str) -> Choice:
        return self._choice

    def put(self, key: str, choice: Choice) -> None:
        """There is nothing to remember."""
