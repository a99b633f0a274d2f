/** Edges: smooth lines that leave and meet boxes vertically, thicker where they stand for several. */
import type { Camera } from "../camera";
import type { SceneEdge } from "../scene/scene";
import type { Highlight } from "./state";
import type { Theme } from "./theme";

/** Below this scale, edges are straight and have no arrow. */
const CURVED = 0.12;
const ARROWS = 0.35;
const MOST_CURVED = 4000;

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
    if (!edge.points.length || edge.isStub) continue;
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
  if (camera.scale >= ARROWS) paintStubs(context, edges);
  if (camera.scale >= ARROWS && curved) paintArrows(context, edges, theme.edge);
}

function paintStubs(context: CanvasRenderingContext2D, edges: readonly SceneEdge[]): void {
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.beginPath();
  for (const edge of edges) if (edge.isStub) traceEdge(context, edge.points, false);
  context.stroke();
  context.setLineDash([]);
}

/** An edge that is not routed, drawn straight from box to box while one of them is highlighted. */
function traceDirect(context: CanvasRenderingContext2D, { from, to }: SceneEdge): void {
  if (!from || !to) return;
  const [x0, y0, x1, y1] = [from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y];
  const bend = Math.max(30, Math.abs(y1 - y0) / 3);
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
}

/** The edges of the highlighted block on top of the others. */
export function paintHighlight(
  context: CanvasRenderingContext2D, highlight: Highlight, camera: Camera, theme: Theme,
): void {
  for (const [edges, color] of [[highlight.into, theme.edgeIn], [highlight.out, theme.edgeOut]] as const) {
    context.strokeStyle = color;
    for (const edge of edges) {
      if (edge.isStub) continue;
      context.lineWidth = Math.max(widthOf(edge) + 0.8, 1.5 / camera.scale);
      context.beginPath();
      if (edge.points.length) traceEdge(context, edge.points, true);
      else traceDirect(context, edge);
      context.stroke();
    }
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
