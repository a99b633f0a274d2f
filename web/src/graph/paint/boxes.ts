/** Boxes of nodes and closed scopes, frames of open ones, and the small ones beside nodes. */
import { Role } from "../../api/types";
import type { Camera } from "../camera";
import { nodeOfBlock, type Block } from "../scene/block";
import { SATELLITE } from "../scene/sizes";
import { familyOf } from "./families";
import type { PaintState } from "./state";
import type { Theme } from "./theme";

/** Boxes lower than this on the screen are plain rectangles. */
const ROUNDED = 7;
const FAR = 0.3;
/** Below this scale, the texts of satellites cannot be read. */
export const SATELLITES_READABLE = 0.66;
export const RADIUS = { node: 6, scope: 8, frame: 10 } as const;

/** Trace a box; inputs and outputs of a graph have round ends. */
export function traceBox(context: CanvasRenderingContext2D, block: Block, grow = 0): void {
  const radius = block.expanded ? RADIUS.frame : block.kind === "node" ? (isEnd(block) ? block.height / 2 : RADIUS.node) : RADIUS.scope;
  context.roundRect(block.x - grow, block.y - grow, block.width + 2 * grow, block.height + 2 * grow, radius + grow);
}

function isEnd(block: Block): boolean {
  const role = roleOf(block);
  return role === Role.Input || role === Role.Output;
}

export function roleOf(block: Block): Role {
  const node = nodeOfBlock(block);
  return node < 0 ? Role.Op : block.instance.hierarchy.graph.role[node]!;
}

/** The frames of expanded blocks, the outer ones first. */
export function paintFrames(context: CanvasRenderingContext2D, frames: readonly Block[], camera: Camera, theme: Theme): void {
  for (const block of frames) {
    context.fillStyle = block.depth % 2 ? theme.frameOdd : theme.frameEven;
    context.strokeStyle = theme.scopeLine;
    context.lineWidth = Math.max(0.8, 0.6 / camera.scale);
    context.beginPath();
    traceBox(context, block);
    context.fill();
    context.stroke();
  }
}

interface Look {
  fill: string;
  line: string;
  width: number;
}

function lookOf(block: Block, state: PaintState, theme: Theme, far: boolean): Look {
  const tone = state.overlay?.of(block);
  if (far && !tone) return farLook(block, theme);
  const plain = block.kind === "node" && !block.expandable ? { fill: theme.node, line: theme.nodeLine, width: 1 } : { fill: theme.scope, line: theme.scopeLine, width: 1 };
  if (tone?.tone) return { fill: theme.tones[tone.tone].wash, line: theme.tones[tone.tone].line, width: 1.6 };
  if (tone && tone.value !== null && tone.heat > 0) return { ...plain, fill: heatColor(theme, tone.heat) };
  if (isEnd(block) && !tone) return { fill: theme.accentWash, line: theme.accent, width: 1 };
  return plain;
}

/** From far away boxes have the color of their family: there is no room for more. */
function farLook(block: Block, theme: Theme): Look {
  if (block.kind !== "node" || block.expandable) return { fill: theme.scope, line: theme.scopeLine, width: 1.5 };
  const color = isEnd(block) ? theme.accent : theme.families[familyOf(block.title)];
  return { fill: color, line: color, width: 1 };
}

/** A color of the heat scale for a number from 0 to 1. */
export function heatColor(theme: Theme, heat: number): string {
  return theme.heat[Math.min(theme.heat.length - 1, Math.floor(heat * theme.heat.length))]!;
}

/** Closed boxes, those that look the same in one go. */
export function paintBoxes(
  context: CanvasRenderingContext2D, blocks: readonly Block[], camera: Camera, theme: Theme, state: PaintState,
): void {
  const groups = new Map<string, { look: Look; blocks: Block[] }>();
  for (const block of blocks) {
    const look = lookOf(block, state, theme, camera.scale < FAR);
    const key = `${look.fill} ${look.line} ${look.width}`;
    const group = groups.get(key) ?? groups.set(key, { look, blocks: [] }).get(key)!;
    group.blocks.push(block);
  }
  for (const { look, blocks: list } of groups.values()) {
    context.fillStyle = look.fill;
    context.strokeStyle = look.line;
    context.lineWidth = Math.max(look.width, 0.5 / camera.scale);
    paintStacks(context, list, camera);
    context.beginPath();
    for (const block of list) {
      if (block.height * camera.scale < ROUNDED) context.rect(block.x, block.y, block.width, block.height);
      else traceBox(context, block);
    }
    context.fill();
    context.stroke();
  }
  if (camera.scale >= FAR) paintStripes(context, blocks, theme, state.overlay !== null);
}

/** A closed scope looks like a small stack: there is more inside. */
function paintStacks(context: CanvasRenderingContext2D, blocks: readonly Block[], camera: Camera): void {
  if (camera.scale < 0.25) return;
  context.beginPath();
  for (const block of blocks) {
    if (!block.expandable) continue;
    context.roundRect(block.x + 4, block.y + 4, block.width - 8, block.height, RADIUS.scope);
  }
  context.fill();
  context.stroke();
}

function paintStripes(context: CanvasRenderingContext2D, blocks: readonly Block[], theme: Theme, faint: boolean): void {
  const byFamily = new Map<string, Block[]>();
  for (const block of blocks) {
    if (block.kind !== "node" || isEnd(block)) continue;
    const color = theme.families[familyOf(block.title)];
    (byFamily.get(color) ?? byFamily.set(color, []).get(color)!).push(block);
  }
  context.globalAlpha = faint ? 0.35 : 1;
  for (const [color, list] of byFamily) {
    context.fillStyle = color;
    context.beginPath();
    for (const block of list) {
      context.roundRect(block.x + 0.5, block.y + 0.5, 4, block.height - 1, [RADIUS.node - 0.5, 0, 0, RADIUS.node - 0.5]);
    }
    context.fill();
  }
  context.globalAlpha = 1;
}

/** The rectangle of the `index`th satellite of a block. */
export function satelliteBox(block: Block, index: number): { x: number; y: number; width: number; height: number } {
  const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
  const pitch = SATELLITE.height + SATELLITE.gap;
  const top = block.y + block.height / 2 - (rows * pitch - SATELLITE.gap) / 2;
  return { x: block.left, y: top + index * pitch, width: block.x - SATELLITE.away - block.left, height: SATELLITE.height };
}

/** A line to the box from each satellite: where it begins, where it ends, and whether a node is between. */
type Link = [x: number, y: number, toX: number, toY: number, via: boolean];

/** The small boxes beside nodes; from further away only a dot for each. */
export function paintSatellites(
  context: CanvasRenderingContext2D, blocks: readonly Block[], camera: Camera, theme: Theme, state: PaintState,
): void {
  const links: Link[] = [];
  const near = camera.scale >= SATELLITES_READABLE;
  context.lineWidth = Math.max(0.8, 0.5 / camera.scale);
  for (const block of blocks) {
    const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
    if (block.expanded || !rows) continue;
    const { graph } = block.instance.hierarchy;
    for (let k = 0; k < rows; k++) {
      const box = satelliteBox(block, k);
      const satellite = block.satellites[k];
      const variable = satellite !== undefined && graph.role[satellite.node] !== Role.Constant;
      const tone = satellite ? state.overlay?.ofNode(graph.id, graph.names[satellite.node]!) : null;
      const start = near ? box.x + box.width : block.x - SATELLITE.away;
      context.fillStyle = tone ? theme.tones[tone].wash : near ? theme.satellite : theme.families.state;
      context.strokeStyle = tone ? theme.tones[tone].line : theme.nodeLine;
      context.beginPath();
      if (near) context.roundRect(box.x, box.y, box.width, box.height, variable ? 3 : box.height / 2);
      else context.roundRect(start - 7, box.y + box.height / 2 - 3.5, 7, 7, variable ? 2 : 3.5);
      context.fill();
      if (near || tone) context.stroke();
      const spread = rows > 1 ? ((k + 0.5) / rows - 0.5) * Math.min(block.height - 10, rows * 8) : 0;
      links.push([start, box.y + box.height / 2, block.x, block.y + block.height / 2 + spread, (satellite?.via.length ?? 0) > 0]);
    }
  }
  paintLinks(context, links, theme.edge);
}

function paintLinks(context: CanvasRenderingContext2D, links: readonly Link[], color: string): void {
  context.strokeStyle = color;
  context.beginPath();
  for (const [x, y, toX, toY] of links) {
    context.moveTo(x, y);
    context.bezierCurveTo((x + toX) / 2, y, (x + toX) / 2, toY, toX, toY);
  }
  context.stroke();
  context.fillStyle = color;
  context.beginPath();
  for (const [x, y, toX, toY, via] of links) {
    if (!via) continue;
    context.moveTo((x + toX) / 2 + 2.6, (y + toY) / 2);
    context.arc((x + toX) / 2, (y + toY) / 2, 2.6, 0, 2 * Math.PI);
  }
  context.fill();
}
