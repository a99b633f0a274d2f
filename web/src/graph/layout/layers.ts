/** A layered graph: long edges are cut into pieces that join neighboring rows, with a bend in each row between. */
import { adjacency, type Adjacency } from "./rank";

/** Bends are bounded: where there would be more, the longest edges are not routed. */
const BENDS_PER_NODE = 3;
const FEW_BENDS = 20_000;

export interface Layers {
  /** Items first, then bends. */
  rank: Int32Array;
  items: number;
  rows: Int32Array[];
  /** The pieces of edges; each goes one row down. */
  source: Int32Array;
  target: Int32Array;
  above: Adjacency;
  below: Adjacency;
  /** The bends of an edge from its upper end, or null for an edge that is not routed. */
  bends: (Int32Array | null)[];
}

/** Cut the edges, which all go down, at the rows that they cross. */
export function cutEdges(rank: Int32Array, source: Int32Array, target: Int32Array): Layers {
  const items = rank.length;
  const longest = longestRouted(rank, source, target);
  const allRanks = Array.from(rank);
  const from: number[] = [];
  const to: number[] = [];
  const bends: (Int32Array | null)[] = [];
  for (let edge = 0; edge < source.length; edge++) {
    const [a, b] = [source[edge]!, target[edge]!];
    const span = rank[b]! - rank[a]!;
    if (span > longest) {
      bends.push(null);
      continue;
    }
    const own = new Int32Array(span - 1);
    let last = a;
    for (let k = 1; k < span; k++) {
      own[k - 1] = allRanks.push(rank[a]! + k) - 1;
      from.push(last);
      to.push((last = own[k - 1]!));
    }
    from.push(last);
    to.push(b);
    bends.push(own);
  }
  const ranksOfAll = Int32Array.from(allRanks);
  const [sources, targets] = [Int32Array.from(from), Int32Array.from(to)];
  return {
    rank: ranksOfAll, items, rows: rowsOf(ranksOfAll), source: sources, target: targets, bends,
    above: adjacency(targets, ranksOfAll.length), below: adjacency(sources, ranksOfAll.length),
  };
}

function longestRouted(rank: Int32Array, source: Int32Array, target: Int32Array): number {
  const spans = Array.from(source, (a, edge) => rank[target[edge]!]! - rank[a]!).sort((a, b) => a - b);
  let budget = Math.max(FEW_BENDS, BENDS_PER_NODE * rank.length);
  let longest = 1;
  for (const span of spans) {
    budget -= span - 1;
    if (budget < 0) break;
    longest = span;
  }
  return longest;
}

function rowsOf(rank: Int32Array): Int32Array[] {
  const last = rank.reduce((most, r) => Math.max(most, r), -1);
  const size = new Int32Array(last + 1);
  for (const r of rank) size[r]!++;
  const rows = Array.from(size, (n) => new Int32Array(n));
  size.fill(0);
  rank.forEach((r, node) => (rows[r]![size[r]!++] = node));
  return rows;
}
