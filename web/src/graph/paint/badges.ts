/** What stands out: badges of an overlay, search results, the pointer and the selection. */
import type { Camera } from "../camera";
import type { Block } from "../scene/block";
import { satelliteBox, traceBox } from "./boxes";
import type { Pen } from "./labels";
import type { Highlight, PaintState, Target } from "./state";
import { GLYPHS, type Theme } from "./theme";

/** The glyph of the tone in the corner of each block, with the number of nodes for a scope. */
export function paintBadges(pen: Pen, blocks: readonly Block[], state: PaintState): void {
  const { context, texts, theme, camera } = pen;
  const { overlay } = state;
  if (!overlay) return;
  const grow = Math.max(1, Math.min(9 / camera.scale / 9, 8));
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const block of blocks) {
    const { tone, count, value } = overlay.of(block);
    if (value !== null && camera.scale >= 0.5 && value > 0) paintValue(pen, block, value, overlay.overlay.unit ?? "");
    if (!tone || (tone === "good" && block.kind === "node" && camera.scale < 0.5)) continue;
    if (camera.scale < 0.35 && block.width * camera.scale < 20) continue;
    const text = block.kind === "node" && count <= 1 ? GLYPHS[tone] : `${GLYPHS[tone]} ${count.toLocaleString("en")}`;
    const size = 10 * grow;
    const width = Math.max(16 * grow, texts.width(text, "label") * grow + 9 * grow);
    const [x, y] = [block.x + block.width - width / 2 - 2 * grow, block.y + (block.expanded ? 14 : -4 * grow)];
    context.fillStyle = theme.tones[tone].line;
    context.beginPath();
    context.roundRect(x - width / 2, y - 8 * grow, width, 16 * grow, 8 * grow);
    context.fill();
    context.fillStyle = theme.paper;
    context.font = texts.font("title", size);
    context.fillText(text, x, y + 0.5 * grow);
  }
}

function paintValue(pen: Pen, block: Block, value: number, unit: string): void {
  const { context, texts, theme } = pen;
  const text = `${value >= 100 ? value.toFixed(0) : value.toPrecision(2)} ${unit}`.trim();
  const width = texts.width(text, "label") + 10;
  const [right, y] = [block.x + block.width + (block.expanded ? -8 : 6), block.y + (block.expanded ? 14 : -4)];
  context.fillStyle = theme.ink;
  context.beginPath();
  context.roundRect(right - width, y - 8, width, 16, 8);
  context.fill();
  context.fillStyle = theme.paper;
  context.font = texts.font("label");
  context.fillText(text, right - width / 2, y + 0.5);
}

export function paintMarks(
  context: CanvasRenderingContext2D, blocks: readonly Block[], camera: Camera, theme: Theme, state: PaintState,
): void {
  if (!state.marked.size) return;
  context.fillStyle = theme.mark;
  context.beginPath();
  for (const block of blocks) {
    if (state.marked.has(block.key) && !block.expanded) traceBox(context, block, Math.max(4, 3 / camera.scale));
  }
  context.fill();
}

export function paintSelection(
  context: CanvasRenderingContext2D, camera: Camera, theme: Theme, state: PaintState, highlight: Highlight | null,
): void {
  if (highlight) paintNeighbors(context, camera, theme, highlight);
  if (state.hovered) outline(context, state.hovered, Math.max(1.2, 1 / camera.scale), theme.accent, 1);
  if (state.selected) outline(context, state.selected, Math.max(2.4, 2 / camera.scale), theme.accent, 2);
}

/** The boxes at the other ends of the highlighted edges. */
function paintNeighbors(context: CanvasRenderingContext2D, camera: Camera, theme: Theme, highlight: Highlight): void {
  context.lineWidth = Math.max(1.5, 1.2 / camera.scale);
  for (const [edges, color, end] of [[highlight.into, theme.edgeIn, "from"], [highlight.out, theme.edgeOut, "to"]] as const) {
    context.strokeStyle = color;
    context.beginPath();
    for (const edge of edges) if (edge[end] && !edge[end].expanded) traceBox(context, edge[end], 1);
    context.stroke();
  }
}

function outline(context: CanvasRenderingContext2D, target: Target, width: number, color: string, grow: number): void {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  if (target.satellite >= 0 && !target.block.expanded) {
    const box = satelliteBox(target.block, Math.min(target.satellite, target.block.satellites.length));
    context.roundRect(box.x - grow, box.y - grow, box.width + 2 * grow, box.height + 2 * grow, 6);
  } else traceBox(context, target.block, grow);
  context.stroke();
}
