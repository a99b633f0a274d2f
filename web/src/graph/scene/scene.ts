/** The picture: blocks and edges at their places, and an index to find those in a rectangle. */
import { FRAME, type LayoutResult } from "../layout/problem";
import type { Arrangement } from "./arrange";
import { blocksOf, type Block, type Instance } from "./block";
import type { Connection } from "./connect";
import { RectangleIndex } from "./rectangles";
import { satelliteWidth, SATELLITE, type Measure } from "./sizes";
import { stubBase, stubsOf, type Stub } from "./stubs";

export interface SceneEdge {
  instance: Instance;
  /** The edges of the graph that it stands for. */
  edges: number[];
  /** What it joins; null where it goes through the border of a scope. */
  from: Block | null;
  to: Block | null;
  /** The block that it is drawn in. */
  within: Block;
  /** x before y; empty for an edge that is too long to be routed: it has a stub at each end. */
  points: Float32Array;
}

export interface Scene {
  root: Block;
  /** Parents before children, children from top to bottom, without the root. */
  blocks: Block[];
  edges: SceneEdge[];
  byKey: Map<string, Block>;
  blockIndex: RectangleIndex;
  edgeIndex: RectangleIndex;
  stubs: Stub[];
  stubIndex: RectangleIndex;
  width: number;
  height: number;
}

/** Put all blocks and edges at their places. */
export function composeScene(root: Block, arrangement: Arrangement, measure: Measure): Scene {
  const edges: SceneEdge[] = [];
  const result = arrangement.results.get(root)!;
  Object.assign(root, { x: 0, y: 0, left: 0, width: result.width, height: result.height });
  const open = [root];
  while (open.length) {
    const block = open.pop()!;
    const inside = arrangement.results.get(block)!;
    const origin = originOf(block, root, inside);
    placeChildren(block, inside, origin, arrangement, measure);
    placeEdges(block, inside, origin, arrangement, edges, block === root);
    for (const child of block.children) if (child.expanded) open.push(child);
  }
  for (const block of blocksOf(root)) block.children.sort((a, b) => a.y - b.y || a.x - b.x);
  const blocks = blocksOf(root).slice(1);
  const stubs = stubsOf(edges);
  return {
    root, blocks, edges, byKey: new Map(blocks.map((block) => [block.key, block])),
    blockIndex: new RectangleIndex(blocks.map((b) => [b.left, b.y, b.x + b.width, b.y + b.height])),
    edgeIndex: new RectangleIndex(edges.map(boundsOf)),
    stubs, stubIndex: new RectangleIndex(stubs.map((stub) => [stub.x, Math.min(stub.y, stubBase(stub)), stub.x, Math.max(stub.y, stubBase(stub))])),
    width: result.width, height: result.height,
  };
}

function originOf(block: Block, root: Block, inside: LayoutResult): { x: number; y: number } {
  if (block === root) return { x: 0, y: 0 };
  return { x: block.x + (block.width - inside.width) / 2, y: block.y + FRAME.title + FRAME.top };
}

function placeChildren(
  block: Block, inside: LayoutResult, origin: { x: number; y: number }, arrangement: Arrangement, measure: Measure,
): void {
  block.children.forEach((child, k) => {
    const size = arrangement.sizes.get(child)!;
    const [x, y] = [origin.x + inside.x[k]!, origin.y + inside.y[k]!];
    child.left = x;
    if (child.expanded) {
      Object.assign(child, { x, y, width: inside.width_of[k]!, height: inside.height_of[k]! });
    } else {
      child.x = origin.x + inside.anchor[k]! - size.boxWidth / 2;
      child.y = y + (inside.height_of[k]! - size.boxHeight) / 2;
      child.width = size.boxWidth;
      child.height = size.boxHeight;
      if (child.satellites.length) child.left = child.x - SATELLITE.away - satelliteWidth(child, measure);
    }
  });
}

function placeEdges(
  block: Block, inside: LayoutResult, origin: { x: number; y: number }, arrangement: Arrangement,
  edges: SceneEdge[], isRoot: boolean,
): void {
  arrangement.connections.get(block)!.list.forEach((connection, k) => {
    const from = block.children[connection.from] ?? null;
    const to = block.children[connection.to] ?? null;
    const line = inside.points.slice(2 * inside.start[k]!, 2 * inside.start[k + 1]!);
    for (let j = 0; j < line.length; j += 2) {
      line[j]! += origin.x;
      line[j + 1]! += origin.y;
    }
    const common = { instance: connection.instance, edges: connection.edges, from, to, within: block };
    const points = isRoot || !line.length ? meetBoxes(line, from, to) : meetBoxes(throughFrame(line, connection, block), from, to);
    edges.push({ ...common, points });
  });
}

/** Ends at a port continue through the frame, to the border of the block. */
function throughFrame(line: Float32Array, connection: Connection, block: Block): Float32Array {
  const before = connection.from >= block.children.length ? [line[0]!, block.y] : [];
  const after = connection.to >= block.children.length ? [line[line.length - 2]!, block.y + block.height] : [];
  return Float32Array.of(...before, ...line, ...after);
}

/** A row of satellites may be higher than the box: the ends of edges are on the box. */
function meetBoxes(line: Float32Array, from: Block | null, to: Block | null): Float32Array {
  if (!line.length) return line;
  const last = line.length - 1;
  const down = line[last]! >= line[1]!;
  if (from) line[1] = down ? from.y + from.height : from.y;
  if (to) line[last] = down ? to.y : to.y + to.height;
  return line;
}

function boundsOf(edge: SceneEdge): [number, number, number, number] {
  const { points } = edge;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let k = 0; k < points.length; k += 2) {
    left = Math.min(left, points[k]!);
    right = Math.max(right, points[k]!);
    top = Math.min(top, points[k + 1]!);
    bottom = Math.max(bottom, points[k + 1]!);
  }
  return [left, top, right, bottom];
}
