/** Edges: smooth lines that leave and meet boxes vertically, thicker where they stand for several. */
import type { Camera } from "../camera";
import type { SceneEdge } from "../scene/scene";
import { stubEnd } from "../scene/stubs";
import type { Highlight } from "./state";
import type { Theme } from "./theme";

/** Below this scale, edges are straight and have no arrow. */
const CURVED = 0.12;
const ARROWS = 0.35;
const MOST_CURVED = 4000;
const UNROUTED = [7, 4];

/** Trace one edge. */
export function traceEdge(context: CanvasRenderingContext2D, points: Float32Array, curved: boolean): void {
  context.moveTo(points[0]!, points[1]!);
  for (let k = 2; k < points.length; k += 2) {
    const [x, y, px, py] = [points[k]!, points[k + 1]!, points[k - 2]!, points[k - 1]!];
    if (curved && x !== px) {
      const middle = (y + py) / 2;
      context.bezierCurveTo(px, middle, x, middle, x, y);
    } else context.lineTo(x, y);
  }
}

/** The width of an edge at scale 1: one that stands for many is wider. */
function widthOf(edge: SceneEdge): number {
  return Math.min(4, 1 + 0.6 * Math.log2(edge.edges.length));
}

export function paintEdges(
  context: CanvasRenderingContext2D, edges: readonly SceneEdge[], camera: Camera, theme: Theme, highlight: Highlight | null,
): void {
  const curved = camera.scale >= CURVED && edges.length <= MOST_CURVED;
  const thin = Math.max(1, 0.55 / camera.scale);
  const byWidth = new Map<number, SceneEdge[]>();
  for (const edge of edges) {
    if (!edge.points.length) continue;
    const width = curved ? Math.round(widthOf(edge) * 2) / 2 : 1;
    const same = byWidth.get(width);
    if (same) same.push(edge);
    else byWidth.set(width, [edge]);
  }
  context.lineJoin = "round";
  context.strokeStyle = theme.edge;
  context.globalAlpha = highlight ? 0.55 : curved ? 1 : 0.7;
  for (const [width, list] of byWidth) {
    context.lineWidth = width * thin;
    context.beginPath();
    for (const edge of list) traceEdge(context, edge.points, curved);
    context.stroke();
  }
  context.globalAlpha = 1;
  if (camera.scale >= ARROWS && curved) paintArrows(context, edges, theme.edge);
}

/** An edge that is not routed, drawn from stub to stub around what is between while one of its boxes is highlighted. */
function traceDirect(context: CanvasRenderingContext2D, { from, to }: SceneEdge): void {
  if (!from || !to) return;
  const [start, end] = [stubEnd(from, "out"), stubEnd(to, "into")];
  const bow = Math.max(from.x + from.width, to.x + to.width) + Math.min(240, 40 + Math.abs(end.y - start.y) / 10);
  context.moveTo(start.x, start.y);
  context.bezierCurveTo(bow, start.y + 30, bow, end.y - 30, end.x, end.y);
}

/** The edges of the highlighted block on top of the others. */
export function paintHighlight(
  context: CanvasRenderingContext2D, highlight: Highlight, camera: Camera, theme: Theme,
): void {
  for (const [edges, color] of [[highlight.into, theme.edgeIn], [highlight.out, theme.edgeOut]] as const) {
    context.strokeStyle = color;
    for (const edge of edges) {
      context.lineWidth = Math.max(widthOf(edge) + 0.8, 1.5 / camera.scale);
      context.beginPath();
      context.setLineDash(edge.points.length ? [] : UNROUTED);
      if (edge.points.length) traceEdge(context, edge.points, true);
      else traceDirect(context, edge);
      context.stroke();
    }
    context.setLineDash([]);
    if (camera.scale >= ARROWS) paintArrows(context, [...edges], color);
  }
}

function paintArrows(context: CanvasRenderingContext2D, edges: readonly SceneEdge[], color: string): void {
  context.fillStyle = color;
  context.beginPath();
  for (const { points, to } of edges) {
    if (!to || points.length < 4) continue;
    const [x, y] = [points[points.length - 2]!, points[points.length - 1]!];
    const back = points[points.length - 3]! > y ? 6 : -6;
    context.moveTo(x, y);
    context.lineTo(x - 3.4, y + back);
    context.lineTo(x + 3.4, y + back);
    context.closePath();
  }
  context.fill();
}
