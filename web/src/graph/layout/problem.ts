/** What the layout of one scope is given, and what it answers. Plain arrays: both cross to the worker. */

/** Where an item must be: anywhere, or on the border at the top or bottom. */
export const enum Rim {
  None = 0,
  Top = 1,
  Bottom = 2,
}

/**
 * Boxes and edges between them. Item `i` extends `left[i]` and `right[i]` from the line that its edges
 * meet, and is `height[i]` high. If `nested[i]` is not -1, its size is that of an earlier problem of the
 * batch, with room for a frame around it.
 */
export interface LayoutProblem {
  left: Float32Array;
  right: Float32Array;
  height: Float32Array;
  nested: Int32Array;
  rim: Uint8Array;
  source: Int32Array;
  target: Int32Array;
  /** The number of edges of the graph that an edge stands for. */
  weight: Float32Array;
  /** The item of the nested problem on its rim at which an edge ends, or -1. */
  sourcePort: Int32Array;
  targetPort: Int32Array;
}

/** What the scope around a placed scope must know of it. */
export interface PlacedSize {
  width: number;
  height: number;
  /** The line that the edges of each item meet. */
  anchor: Float32Array;
}

/** A placed scope: the top left corner and size of each item, and the points of each edge. */
export interface LayoutResult extends PlacedSize {
  x: Float32Array;
  y: Float32Array;
  width_of: Float32Array;
  height_of: Float32Array;
  /** The points of edge `e` are `points[2 * start[e] … 2 * start[e + 1] - 1]`, x before y. */
  start: Int32Array;
  points: Float32Array;
}

/** The frame of an expanded scope: its title and the space around what is inside. */
export const FRAME = { title: 28, side: 14, top: 14, bottom: 14 } as const;

export const GAP = { between: 22, besideEdge: 12, ranks: 34 } as const;
