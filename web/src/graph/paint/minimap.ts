/** The whole picture, small, with the part in view. */
import type { Camera, Size } from "../camera";
import type { Scene } from "../scene/scene";
import type { PaintState } from "./state";
import type { Theme } from "./theme";

export const MINIMAP = { width: 168, height: 120, margin: 6 } as const;
const pictures = new WeakMap<Scene, { key: string; canvas: HTMLCanvasElement }>();

/** The scale of the minimap, and where the picture begins in it. */
export function minimapPlace(scene: Scene): { scale: number; x: number; y: number } {
  const scale = Math.min((MINIMAP.width - 2 * MINIMAP.margin) / scene.width, (MINIMAP.height - 2 * MINIMAP.margin) / scene.height);
  return { scale, x: (MINIMAP.width - scene.width * scale) / 2, y: (MINIMAP.height - scene.height * scale) / 2 };
}

export function paintMinimap(
  canvas: HTMLCanvasElement, scene: Scene, camera: Camera, view: Size, theme: Theme, state: PaintState,
): void {
  const everything = camera.x <= 0 && camera.y <= 0 && camera.x + view.width / camera.scale >= scene.width && camera.y + view.height / camera.scale >= scene.height;
  canvas.hidden = everything || view.width < 480;
  if (canvas.hidden) return;
  const ratio = devicePixelRatio;
  const [width, height] = [MINIMAP.width * ratio, MINIMAP.height * ratio];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d")!;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  context.drawImage(still(scene, theme, state, ratio), 0, 0);
  const { scale, x, y } = minimapPlace(scene);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.strokeStyle = theme.accent;
  context.fillStyle = theme.accent;
  context.lineWidth = 1.5;
  const rectangle = [x + camera.x * scale, y + camera.y * scale, (view.width / camera.scale) * scale, (view.height / camera.scale) * scale] as const;
  context.globalAlpha = 0.12;
  context.fillRect(...rectangle);
  context.globalAlpha = 1;
  context.strokeRect(...rectangle);
}

/** What does not change with the camera, painted once for a scene. */
function still(scene: Scene, theme: Theme, state: PaintState, ratio: number): HTMLCanvasElement {
  const key = `${theme.paper} ${ratio} ${state.marked.size} ${state.overlay?.overlay.title ?? ""}`;
  const known = pictures.get(scene);
  if (known?.key === key) return known.canvas;
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: MINIMAP.width * ratio, height: MINIMAP.height * ratio });
  const context = canvas.getContext("2d")!;
  const { scale, x, y } = minimapPlace(scene);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
  const least = 1.2 / scale;
  for (const block of scene.blocks) {
    const tone = state.overlay?.of(block).tone;
    const marked = state.marked.has(block.key);
    if (block.expanded) context.fillStyle = block.depth % 2 ? theme.frameOdd : theme.frameEven;
    else context.fillStyle = marked ? theme.mark : tone && tone !== "good" ? theme.tones[tone].line : theme.nodeLine;
    context.fillRect(block.x, block.y, Math.max(least, block.width), Math.max(least, block.height));
  }
  pictures.set(scene, { key, canvas });
  return canvas;
}
