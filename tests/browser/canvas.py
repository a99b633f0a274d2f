"""The canvas of a graph: what is under a point of it, and which colors it shows."""

from __future__ import annotations

from typing import Any

HAS_COLOR = """([name]) => {
  const canvas = document.querySelector('.graph-canvas');
  const probe = document.createElement('canvas').getContext('2d');
  probe.fillStyle = getComputedStyle(canvas).getPropertyValue(name).trim();
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let k = 0; k < data.length; k += 4) {
    if (data[k] === r && data[k + 1] === g && data[k + 2] === b) count++;
  }
  return count;
}"""


class GraphCanvas:
    """The canvas of a page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.element = page.locator(".graph-canvas")

    @property
    def middle(self) -> tuple[float, float]:
        box = self.element.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def under(self, x: float, y: float) -> str:
        """The name of the box under a point of the page; empty if there is none."""
        self.page.mouse.move(x, y)
        return str(self.element.evaluate("(canvas) => canvas.title")).partition("\n")[0]

    def right_of(self, name: str) -> int:
        """How many pixels from the middle of the canvas a box in the middle reaches to the right."""
        x, y = self.middle
        assert self.under(x, y) == name
        return next(right for right in range(0, 600, 4) if self.under(x + right, y) != name)

    def pixels(self, color: str) -> int:
        """How many pixels have a color of the style sheet, by its name there."""
        return int(self.page.evaluate(HAS_COLOR, [color]))


class Fingers:
    """Fingers on a touch screen."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def move(self, *paths: tuple[tuple[float, float], tuple[float, float]], steps: int = 8) -> None:
        """Put a finger at the start of each path, move all to the ends together, and lift them."""
        self._send("touchStart", [start for start, _ in paths])
        for step in range(1, steps + 1):
            part = step / steps
            moved = [(a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part) for a, b in paths]
            self._send("touchMove", moved)
        self._send("touchEnd", [])

    def _send(self, kind: str, points: list[tuple[float, float]]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
