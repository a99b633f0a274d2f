/** The layout of one scope: boxes in rows from top to bottom, smooth edges around them. */
import { horizontalPlaces } from "./coordinates";
import { upwardEdges } from "./cycles";
import { cutEdges, type Layers } from "./layers";
import { orderRows } from "./order";
import { packComponents, componentsOf } from "./pack";
import { FRAME, GAP, Rim, type LayoutProblem, type LayoutResult, type PlacedSize } from "./problem";
import { ranks } from "./rank";
import { routeEdges, type Placed } from "./route";
import { wrapWideRows } from "./wrap";

/** Lay out problems in order. A later one may nest an earlier one; the size of one that is known stands for it. */
export function layoutAll(problems: readonly (LayoutProblem | PlacedSize)[]): (LayoutResult | null)[] {
  const sizes: PlacedSize[] = [];
  return problems.map((problem) => {
    const result = "rim" in problem ? layoutScope(problem, sizes) : null;
    sizes.push(result ?? (problem as PlacedSize));
    return result;
  });
}

/** Lay out one scope, given the results of those nested in it. */
export function layoutScope(problem: LayoutProblem, nested: readonly PlacedSize[]): LayoutResult {
  const sized = withNestedSizes(problem, nested);
  const parts = componentsOf(sized.left.length, sized.source, sized.target, sized.rim);
  return packComponents(sized, parts, (part) => layoutComponent(part, nested));
}

/** Nested scopes have the size of what is in them, and the line that their edges meet is among their ports. */
function withNestedSizes(problem: LayoutProblem, nested: readonly PlacedSize[]): LayoutProblem {
  if (problem.nested.every((index) => index < 0)) return problem;
  const [left, right, height] = [problem.left.slice(), problem.right.slice(), problem.height.slice()];
  const ports = portsInUse(problem);
  problem.nested.forEach((index, item) => {
    if (index < 0) return;
    const inner = nested[index]!;
    const width = Math.max(inner.width + 2 * FRAME.side, left[item]! + right[item]!);
    const used = ports.get(item);
    const within = used ? used.reduce((sum, port) => sum + inner.anchor[port]!, 0) / used.length : inner.width / 2;
    left[item] = (width - inner.width) / 2 + within;
    right[item] = width - left[item]!;
    height[item] = inner.height + FRAME.title + FRAME.top + FRAME.bottom;
  });
  return { ...problem, left, right, height };
}

function portsInUse(problem: LayoutProblem): Map<number, number[]> {
  const ports = new Map<number, number[]>();
  const add = (item: number, port: number) => {
    if (port >= 0) (ports.get(item) ?? ports.set(item, []).get(item)!).push(port);
  };
  problem.source.forEach((item, edge) => add(item, problem.sourcePort[edge]!));
  problem.target.forEach((item, edge) => add(item, problem.targetPort[edge]!));
  return ports;
}

function layoutComponent(problem: LayoutProblem, nested: readonly PlacedSize[]): Placed {
  const count = problem.left.length;
  const upward = upwardEdges(count, problem.source, problem.target, problem.weight);
  const source = problem.source.map((s, e) => (upward[e] ? problem.target[e]! : s));
  const target = problem.target.map((t, e) => (upward[e] ? problem.source[e]! : t));
  const rank = wrapWideRows(ranks(count, source, target, problem.rim), problem, source, target);
  const layers = cutEdges(rank, source, target);
  const place = orderRows(layers);
  const extents = extentsOf(layers, problem);
  const x = horizontalPlaces(layers, place, extents);
  const rows = rowBands(layers, problem, x);
  return routeEdges(problem, layers, x, rows, upward, nested);
}

function extentsOf(layers: Layers, problem: LayoutProblem) {
  const left = new Float32Array(layers.rank.length).fill(GAP.besideEdge / 2);
  const right = left.slice();
  for (let i = 0; i < layers.items; i++) {
    const half = problem.rim[i] === Rim.None ? GAP.between / 2 : GAP.besideEdge / 2;
    left[i] = problem.left[i]! + half;
    right[i] = problem.right[i]! + half;
  }
  return { left, right };
}

/** The top and bottom of each row; rows are further apart where edges between them go far sideways. */
function rowBands(layers: Layers, problem: LayoutProblem, x: Float64Array): { top: Float64Array; bottom: Float64Array } {
  const count = layers.rows.length;
  const top = new Float64Array(count);
  const bottom = new Float64Array(count);
  const sideways = new Float64Array(count);
  layers.source.forEach((a, e) => {
    const row = layers.rank[a]!;
    sideways[row] = Math.max(sideways[row]!, Math.abs(x[a]! - x[layers.target[e]!]!));
  });
  let y = 0;
  for (let row = 0; row < count; row++) {
    let height = 0;
    let rimOnly = true;
    for (const node of layers.rows[row]!) {
      if (node >= layers.items) continue;
      height = Math.max(height, problem.height[node]!);
      if (problem.rim[node] === Rim.None) rimOnly = false;
    }
    top[row] = y;
    bottom[row] = y + height;
    y += height + (rimOnly ? 8 : GAP.ranks) + Math.min(60, sideways[row]! / 14);
  }
  return { top, bottom };
}
