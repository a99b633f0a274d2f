/** A press on the minimap moves the camera there. */
import { minimapPlace } from "./paint/minimap";
import type { Stage } from "./stage";

export function followMinimap(minimap: HTMLCanvasElement, stage: Stage): () => void {
  const move = (event: PointerEvent) => {
    if (!(event.buttons & 1) || !stage.scene) return;
    const box = minimap.getBoundingClientRect();
    const { scale, x, y } = minimapPlace(stage.scene);
    const { camera, view } = stage;
    stage.go({
      scale: camera.scale,
      x: (event.clientX - box.left - x) / scale - view.width / 2 / camera.scale,
      y: (event.clientY - box.top - y) / scale - view.height / 2 / camera.scale,
    }, false);
  };
  const down = (event: PointerEvent) => {
    minimap.setPointerCapture(event.pointerId);
    move(event);
  };
  minimap.addEventListener("pointerdown", down);
  minimap.addEventListener("pointermove", move);
  return () => {
    minimap.removeEventListener("pointerdown", down);
    minimap.removeEventListener("pointermove", move);
  };
}
