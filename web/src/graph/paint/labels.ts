/** Texts in boxes, titles of frames, and the types of edges where there is room. */
import { Role } from "../../api/types";
import type { Camera } from "../camera";
import { FRAME } from "../layout/problem";
import type { Block } from "../scene/block";
import type { Scene, SceneEdge } from "../scene/scene";
import { BOX, frameTitle, satelliteLabel, SATELLITE } from "../scene/sizes";
import { roleOf, satelliteBox, SATELLITES_READABLE } from "./boxes";
import type { PaintState } from "./state";
import type { Texts } from "./text";
import type { Theme } from "./theme";

/** Texts are drawn if they are at least about this high on the screen. */
export const READABLE = 0.56;
const EDGE_LABELS = 0.85;
/** From this heat on, colors are dark. */
const WHITE_TEXT = 4 / 6;
/** Badges of an overlay reach this far above a box. */
const BADGE = 13;

export interface Pen {
  context: CanvasRenderingContext2D;
  texts: Texts;
  theme: Theme;
  camera: Camera;
}

export function paintBoxTexts(pen: Pen, blocks: readonly Block[], state: PaintState): void {
  const { context, texts, theme } = pen;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const block of blocks) {
    const node = block.kind === "node";
    const dark = (state.overlay?.of(block).heat ?? 0) >= WHITE_TEXT;
    const end = node && (roleOf(block) === Role.Input || roleOf(block) === Role.Output);
    const left = block.x + (node && !end ? BOX.stripe : 0) + (block.expandable ? BOX.chevron + 6 : BOX.side);
    const room = block.x + block.width - left - BOX.side + 2;
    const middle = block.y + block.height / 2;
    context.fillStyle = dark ? "#ffffff" : theme.ink;
    context.font = texts.font("title");
    const title = texts.fit(block.title, room, "title", node ? "start" : "end");
    context.fillText(title, left, block.subtitle ? middle - 8 : middle);
    if (block.subtitle) {
      context.fillStyle = dark ? "#f0f0f0" : theme.soft;
      context.font = texts.font("subtitle");
      context.fillText(texts.fit(block.subtitle, room, "subtitle", "end"), left, middle + 8.5);
    }
    if (block.expandable) paintChevron(context, block.x + (node ? BOX.stripe : 0) + 10, middle, false, theme.soft);
  }
}

export function paintChevron(context: CanvasRenderingContext2D, x: number, y: number, open: boolean, color: string): void {
  context.strokeStyle = color;
  context.lineWidth = 1.6;
  context.beginPath();
  if (open) context.moveTo(x - 4, y - 2), context.lineTo(x, y + 2), context.lineTo(x + 4, y - 2);
  else context.moveTo(x - 2, y - 4), context.lineTo(x + 2, y), context.lineTo(x - 2, y + 4);
  context.stroke();
}

export function paintSatelliteTexts(pen: Pen, blocks: readonly Block[]): void {
  const { context, texts, theme, camera } = pen;
  if (camera.scale < SATELLITES_READABLE) return;
  context.font = texts.font("satellite");
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const block of blocks) {
    const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
    if (block.expanded || !rows) continue;
    const { graph } = block.instance.hierarchy;
    for (let k = 0; k < rows; k++) {
      const box = satelliteBox(block, k);
      const satellite = block.satellites[k];
      const middle = box.y + box.height / 2 + 0.5;
      if (satellite) paintStateGlyph(context, box.x + SATELLITE.side + 3, middle - 0.5, graph.role[satellite.node] === Role.Constant, theme.families.state);
      context.fillStyle = theme.soft;
      const left = box.x + SATELLITE.side + (satellite ? SATELLITE.glyph : 2);
      context.fillText(texts.fit(satelliteLabel(block, k), box.x + box.width - left - SATELLITE.side + 2, "satellite", "end"), left, middle);
    }
  }
}

/** A dot for a constant, a small drum for a variable. */
function paintStateGlyph(context: CanvasRenderingContext2D, x: number, y: number, constant: boolean, color: string): void {
  context.fillStyle = color;
  context.beginPath();
  if (constant) context.arc(x, y, 2.5, 0, 2 * Math.PI);
  else context.roundRect(x - 3, y - 3, 6, 6, 1.5);
  context.fill();
}

export function paintFrameTitles(pen: Pen, frames: readonly Block[]): void {
  const { context, texts, theme } = pen;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const block of frames) {
    const y = block.y + FRAME.title / 2 + 1;
    const background = block.depth % 2 ? theme.frameOdd : theme.frameEven;
        const count = `${block.size.toLocaleString("en")} nodes`;
    const countWidth = texts.width(count, "subtitle");
    const room = Math.min(block.width, 520) - 44 - countWidth;
    const title = texts.fit(frameTitle(block), room, "title", "end");
    const titleWidth = texts.width(title, "title");
    const whole = titleWidth + countWidth + 40;
    const x = titleStart(block, whole, pen.camera);
    context.fillStyle = background;
    context.fillRect(x + 6, y - 9, whole - 4, 18);
    paintChevron(context, x + 15, y, true, theme.soft);
    context.fillStyle = theme.ink;
    context.font = texts.font("title");
    context.fillText(title, x + 26, y);
    context.fillStyle = theme.soft;
    context.font = texts.font("subtitle");
    context.fillText(count, x + 34 + titleWidth, y + 0.5);
  }
}

/** Where the title of a frame begins: at its left, or at the left of the view if that is inside of it. */
export function titleStart(block: Block, width: number, camera: Camera): number {
  return Math.max(block.x, Math.min(camera.x + 8 / camera.scale, block.x + block.width - width));
}

/** From far away: the names of scopes across their boxes, at a size that can be read, where they fit. */
export function paintFarTitles(pen: Pen, blocks: readonly Block[]): void {
  const { context, texts, theme, camera } = pen;
  const taken: number[][] = [];
  context.textAlign = "center";
  context.textBaseline = "middle";
  const pixels = 11 / camera.scale;
  context.lineJoin = "round";
  context.lineWidth = 4 / camera.scale;
  for (const block of blocks) {
    const [width, height] = [block.width * camera.scale, block.height * camera.scale];
    if (width < 60 || height < 16) continue;
    const text = texts.fit(frameTitle(block), Math.min(width - 8, 220), "title", "end");
    const half = texts.width(text, "title") / 2 / camera.scale;
    const x = block.x + block.width / 2;
    const y = block.expanded ? block.y + 12 / camera.scale : block.y + block.height / 2;
    const box = [x - half, y - pixels * 0.6, x + half, y + pixels * 0.6];
    if (!text || taken.some((t) => t[0]! < box[2]! && t[2]! > box[0]! && t[1]! < box[3]! && t[3]! > box[1]!)) continue;
    taken.push(box);
    context.font = texts.font("title", pixels);
    context.strokeStyle = block.expanded ? (block.depth % 2 ? theme.frameOdd : theme.frameEven) : theme.scope;
    context.strokeText(text, x, y);
    context.fillStyle = theme.ink;
    context.fillText(text, x, y);
  }
}

/** "float32 [?, 224, 3]" as "float32 ?×224×3". */
export function shortType(type: string): string {
  const match = /^(\S+) \[(.*)\]$/.exec(type);
  if (!match) return type;
  return match[2] ? `${match[1]} ${match[2].split(/,\s*/).join("×")}` : `${match[1]} scalar`;
}

/** The types of edges, each once for an output, where they cover neither a box nor another label. */
export function paintEdgeLabels(
  pen: Pen, edges: readonly SceneEdge[], scene: Scene, emphasized: ReadonlySet<SceneEdge>, hasBadges: boolean,
): void {
  const { context, texts, theme, camera } = pen;
  if (camera.scale < EDGE_LABELS && !emphasized.size) return;
  const taken: number[][] = [];
  const done = new Set<string>();
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = texts.font("label");
  const candidates = camera.scale < EDGE_LABELS ? [...emphasized] : [...emphasized, ...edges];
  for (const edge of candidates.slice(0, 600)) {
    const { graph } = edge.instance.hierarchy;
    const first = edge.edges[0];
    if (first === undefined || edge.points.length < 4) continue;
    const key = `${edge.instance.key} ${graph.source[first]} ${graph.source_output[first]} ${edge.within.key}`;
    if (done.has(key)) continue;
    const types = new Set(edge.edges.slice(0, 50).map((e) => graph.edge_type[e]!));
    const text = types.size === 1 ? texts.fit(shortType(graph.types[[...types][0]!] ?? ""), 150, "label", "start") : `${edge.edges.length} tensors`;
    const place = labelPlace(edge, texts.width(text, "label"), scene, taken, hasBadges ? BADGE : 0);
    if (!place || !text) continue;
    done.add(key);
    taken.push(place);
    const [x, y] = [(place[0]! + place[2]!) / 2, (place[1]! + place[3]!) / 2];
    context.fillStyle = edge.within === scene.root ? theme.paper : edge.within.depth % 2 ? theme.frameOdd : theme.frameEven;
    context.fillRect(place[0]!, place[1]!, place[2]! - place[0]!, place[3]! - place[1]!);
    context.fillStyle = emphasized.has(edge) ? theme.ink : theme.soft;
    context.fillText(text, x, y + 0.5);
  }
}

/** The first free place along an edge for a label of this width. */
function labelPlace(edge: SceneEdge, width: number, scene: Scene, taken: number[][], above: number): number[] | null {
  const { points } = edge;
  for (let k = 0; k + 3 < points.length; k += 2) {
    const [x0, y0, x1, y1] = [points[k]!, points[k + 1]!, points[k + 2]!, points[k + 3]!];
    if (Math.abs(y1 - y0) < 22) continue;
    const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
    const box = [x - width / 2 - 3, y - 7, x + width / 2 + 3, y + 7];
    if (taken.some((t) => t[0]! < box[2]! && t[2]! > box[0]! && t[1]! < box[3]! && t[3]! > box[1]!)) continue;
    let free = true;
    scene.blockIndex.search(box[0]!, box[1]!, box[2]!, box[3]! + above, (index) => {
      const block = scene.blocks[index]!;
      const around = block.expanded && block.x < box[0]! && block.x + block.width > box[2]! && block.y + FRAME.title < box[1]! && block.y + block.height > box[3]!;
      if (!around) free = false;
    });
    if (free) return box;
  }
  return null;
}
