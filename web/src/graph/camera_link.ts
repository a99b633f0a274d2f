/** Two views side by side that look at the same nodes: moving one moves the other. */

export type Side = "a" | "b";

/** A node at a place of the screen, and how large the picture is. */
export interface Sight {
  name: string;
  x: number;
  y: number;
  scale: number;
}

type Follower = (sight: Sight) => boolean;

export class CameraLink {
  private readonly followers = new Map<Side, Follower>();
  private readonly toA: Map<string, string>;
  private following = false;

  /** `matches`: the name in `b` of each node of `a` that has another name there. */
  constructor(private readonly toB: ReadonlyMap<string, string> = new Map()) {
    this.toA = new Map([...toB].map(([a, b]) => [b, a]));
  }

  /** Let a side follow the other; returns a function that ends it. */
  follow(side: Side, follower: Follower): () => void {
    this.followers.set(side, follower);
    return () => this.followers.delete(side);
  }

  /** Tell the other side what this one sees: nodes from the middle outward; the first known there is used. */
  moved(side: Side, sights: Iterable<Sight>): void {
    if (this.following) return;
    const follower = this.followers.get(side === "a" ? "b" : "a");
    if (!follower) return;
    const names = side === "a" ? this.toB : this.toA;
    this.following = true;
    try {
      for (const sight of sights) if (follower({ ...sight, name: names.get(sight.name) ?? sight.name })) break;
    } finally {
      this.following = false;
    }
  }
}
