/** Control edges between the blocks in view: dashed, and not part of the layout. */
import type { Camera } from "../camera";
import type { Block } from "../scene/block";
import type { Theme } from "./theme";

const MOST = 3000;

export function paintControls(
  context: CanvasRenderingContext2D, boxes: readonly Block[], camera: Camera, theme: Theme,
): void {
  const byInstance = new Map<string, Block[]>();
  for (const block of boxes) {
    if (block.kind === "graph") continue;
    (byInstance.get(block.instance.key) ?? byInstance.set(block.instance.key, []).get(block.instance.key)!).push(block);
  }
  context.strokeStyle = theme.control;
  context.lineWidth = Math.max(1, 0.6 / camera.scale);
  context.setLineDash([5, 4]);
  context.beginPath();
  let drawn = 0;
  for (const blocks of byInstance.values()) {
    for (const [from, to] of controlPairs(blocks)) {
      if (drawn++ > MOST) break;
      const [x0, y0, x1, y1] = [from.x + from.width * 0.75, from.y + from.height, to.x + to.width * 0.75, to.y];
      const bend = Math.max(24, Math.abs(y1 - y0) / 2);
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    }
  }
  context.stroke();
  context.setLineDash([]);
}

/** The blocks of this instance that a control edge joins, each pair once. */
function controlPairs(blocks: readonly Block[]): [Block, Block][] {
  const { hierarchy } = blocks[0]!.instance;
  const { control_source, control_target } = hierarchy.graph;
  if (!control_source.length) return [];
  const shownBy = new Map<number, Block>();
  for (const block of blocks) for (let item = block.item; item < hierarchy.tree.end[block.item]!; item++) shownBy.set(item, block);
  const pairs = new Map<string, [Block, Block]>();
  control_source.forEach((source, k) => {
    const from = shownBy.get(hierarchy.itemShowing(source));
    const to = shownBy.get(hierarchy.itemShowing(control_target[k]!));
    if (from && to && from !== to) pairs.set(`${from.key} ${to.key}`, [from, to]);
  });
  return [...pairs.values()];
}
