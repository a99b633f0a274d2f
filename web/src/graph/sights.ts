/** What a view sees, in names, for another view that follows it. */
import { toPicture, toScreen } from "./camera";
import type { Sight } from "./camera_link";
import type { Block } from "./scene/block";
import type { Scene } from "./scene/scene";
import type { Stage } from "./stage";

const MOST = 40;

/** The full name of a block: of the node, or of the scope. */
function nameOf(block: Block): string {
  const { hierarchy } = block.instance;
  const node = hierarchy.nodeOf(block.item);
  if (node >= 0) return hierarchy.graph.names[node]!;
  const labels: string[] = [];
  for (let item = block.item; item > 0; item = hierarchy.tree.parent[item]!) labels.unshift(hierarchy.label(item));
  return `${labels.join("/")}/`;
}

/** The boxes in view, from the middle outward. */
export function sightsOf(stage: Stage): Sight[] {
  const { scene, camera, view } = stage;
  if (!scene) return [];
  const [x, y] = toPicture(camera, view.width / 2, view.height / 2);
  const near: Block[] = [];
  const [halfWidth, halfHeight] = [view.width / 2 / camera.scale, view.height / 2 / camera.scale];
  scene.blockIndex.search(x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight, (index) => {
    const block = scene.blocks[index]!;
    if (!block.expanded) near.push(block);
  });
  const distance = (block: Block) => Math.hypot(block.x + block.width / 2 - x, block.y + block.height / 2 - y);
  return near.sort((a, b) => distance(a) - distance(b)).slice(0, MOST).map((block) => {
    const [sx, sy] = toScreen(camera, block.x + block.width / 2, block.y + block.height / 2);
    return { name: nameOf(block), x: sx - view.width / 2, y: sy - view.height / 2, scale: camera.scale };
  });
}

const named = new WeakMap<Scene, Map<string, Block>>();

/** The closed block of a name in a scene. */
function blockNamed(scene: Scene, name: string): Block | undefined {
  let blocks = named.get(scene);
  if (!blocks) {
    blocks = new Map(scene.blocks.filter((block) => !block.expanded).map((block) => [nameOf(block), block]));
    named.set(scene, blocks);
  }
  return blocks.get(name);
}

/** Move the camera so that the named box is where the other view has it; false if there is none. */
export function lookAt(stage: Stage, sight: Sight): boolean {
  const block = stage.scene && blockNamed(stage.scene, sight.name);
  if (!block) return false;
  stage.go({
    scale: sight.scale,
    x: block.x + block.width / 2 - (sight.x + stage.view.width / 2) / sight.scale,
    y: block.y + block.height / 2 - (sight.y + stage.view.height / 2) / sight.scale,
  }, false);
  return true;
}
