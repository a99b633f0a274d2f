/** Which block is next to another along the edges, or beside it. */
import type { Block } from "./scene/block";
import type { Scene } from "./scene/scene";

export type Direction = "up" | "down" | "left" | "right";

/** Up and down follow edges, left and right go to the next box at about the same height. */
export function neighbor(scene: Scene, block: Block, direction: Direction): Block | null {
  if (direction === "up" || direction === "down") return along(scene, block, direction) ?? around(block, direction);
  const middle = block.y + block.height / 2;
  let best: Block | null = null;
  for (const other of block.parent?.children ?? []) {
    const right = other.x > block.x;
    if (other === block || right !== (direction === "right")) continue;
    if (other.y > middle + 30 || other.y + other.height < middle - 30) continue;
    if (!best || Math.abs(other.x - block.x) < Math.abs(best.x - block.x)) best = other;
  }
  return best;
}

function along(scene: Scene, block: Block, direction: "up" | "down"): Block | null {
  let best: Block | null = null;
  for (const edge of scene.edges) {
    const other = direction === "down" ? (edge.from === block ? edge.to : null) : edge.to === block ? edge.from : null;
    if (!other) continue;
    const nearer = !best || Math.abs(other.x + other.width / 2 - block.x - block.width / 2) < Math.abs(best.x + best.width / 2 - block.x - block.width / 2);
    if (nearer) best = other;
  }
  return best;
}

/** At the end of a scope: the scope itself going up, its first child going down. */
function around(block: Block, direction: "up" | "down"): Block | null {
  if (direction === "down") return block.expanded ? block.children[0] ?? null : null;
  return block.parent?.parent ? block.parent : null;
}
