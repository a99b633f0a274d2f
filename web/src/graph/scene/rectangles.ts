/** Finds the rectangles that meet another: a packed tree over rectangles sorted in tiles. */

const FANOUT = 16;

export type Rectangle = readonly [left: number, top: number, right: number, bottom: number];

export class RectangleIndex {
  /** The bounds of each level, leaves first: 4 numbers for each entry. */
  private readonly levels: Float64Array[] = [];
  private readonly order: Int32Array;

  constructor(rectangles: readonly Rectangle[]) {
    this.order = tiledOrder(rectangles);
    let level: Float64Array = new Float64Array(4 * rectangles.length);
    this.order.forEach((index, k) => level.set(rectangles[index]!, 4 * k));
    this.levels.push(level);
    while (level.length > 4 * FANOUT) this.levels.push((level = levelAbove(level)));
  }

  /** Call `visit` with the index of each rectangle that meets this one. */
  search(left: number, top: number, right: number, bottom: number, visit: (index: number) => void): void {
    const walk = (depth: number, from: number, to: number): void => {
      const level = this.levels[depth]!;
      for (let k = from; k < to; k++) {
        const at = 4 * k;
        if (level[at]! > right || level[at + 2]! < left || level[at + 1]! > bottom || level[at + 3]! < top) continue;
        if (depth === 0) visit(this.order[k]!);
        else walk(depth - 1, k * FANOUT, Math.min((k + 1) * FANOUT, this.levels[depth - 1]!.length / 4));
      }
    };
    const highest = this.levels.length - 1;
    walk(highest, 0, this.levels[highest]!.length / 4);
  }
}

/** By columns of about equal count, then from top to bottom in each. */
function tiledOrder(rectangles: readonly Rectangle[]): Int32Array {
  const order = Int32Array.from(rectangles, (_, i) => i);
  const middleX = (i: number) => rectangles[i]![0] + rectangles[i]![2];
  const middleY = (i: number) => rectangles[i]![1] + rectangles[i]![3];
  order.sort((a, b) => middleX(a) - middleX(b));
  const column = Math.max(FANOUT, Math.ceil(Math.sqrt(order.length * FANOUT)));
  for (let k = 0; k < order.length; k += column) {
    order.subarray(k, k + column).sort((a, b) => middleY(a) - middleY(b));
  }
  return order;
}

function levelAbove(level: Float64Array): Float64Array {
  const count = Math.ceil(level.length / 4 / FANOUT);
  const above = new Float64Array(4 * count);
  for (let k = 0; k < count; k++) above.set([Infinity, Infinity, -Infinity, -Infinity], 4 * k);
  for (let k = 0; k < level.length / 4; k++) {
    const at = 4 * Math.floor(k / FANOUT);
    above[at] = Math.min(above[at]!, level[4 * k]!);
    above[at + 1] = Math.min(above[at + 1]!, level[4 * k + 1]!);
    above[at + 2] = Math.max(above[at + 2]!, level[4 * k + 2]!);
    above[at + 3] = Math.max(above[at + 3]!, level[4 * k + 3]!);
  }
  return above;
}
