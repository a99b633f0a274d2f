/** Paints the part of the scene that the camera sees. */
import type { Camera, Size } from "../camera";
import type { Block } from "../scene/block";
import type { Scene, SceneEdge } from "../scene/scene";
import type { Stub } from "../scene/stubs";
import { paintBadges, paintMarks, paintSelection } from "./badges";
import { paintBoxes, paintFrames, paintSatellites } from "./boxes";
import { paintControls } from "./controls";
import { paintEdges, paintHighlight } from "./edges";
import { paintBoxTexts, paintEdgeLabels, paintFarTitles, paintFrameTitles, paintSatelliteTexts, READABLE, type Pen } from "./labels";
import { paintStubs } from "./stubs";
import { highlightOf, type PaintState } from "./state";

/** What is inside of a frame smaller than this on the screen is not drawn. */
const SMALLEST_FRAME = { short: 10, long: 26 } as const;
const SATELLITES = 0.4;

export function paint(pen: Pen, scene: Scene, view: Size, ratio: number, state: PaintState): void {
  const { context, theme, camera } = pen;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, Math.ceil(view.width * ratio), Math.ceil(view.height * ratio));
  const zoom = ratio * camera.scale;
  context.setTransform(zoom, 0, 0, zoom, -camera.x * zoom, -camera.y * zoom);
  const { frames, boxes, edges, stubs } = visible(scene, camera, view);
  const target = state.hovered ?? state.selected;
  const highlight = target ? highlightOf(scene, target) : null;
  const readable = camera.scale >= READABLE;
  paintFrames(context, frames, camera, theme);
  paintEdges(context, edges, camera, theme, highlight);
  if (state.controls) paintControls(context, boxes, camera, theme);
  if (highlight) paintHighlight(context, highlight, camera, theme);
  paintStubs(context, stubs, camera, theme, pen.texts, highlight);
  paintMarks(context, [...frames, ...boxes], camera, theme, state);
  if (camera.scale >= SATELLITES) paintSatellites(context, boxes, camera, theme, state);
  paintBoxes(context, boxes, camera, theme, state);
  if (readable) {
    paintFrameTitles(pen, frames);
    paintBoxTexts(pen, boxes, state);
    paintSatelliteTexts(pen, boxes);
    const emphasized = highlight ? new Set([...highlight.into, ...highlight.out]) : new Set<SceneEdge>();
    paintEdgeLabels(pen, edges, scene, emphasized, state.overlay !== null);
  } else paintFarTitles(pen, [...frames, ...boxes.filter((block) => block.expandable || block.height * camera.scale > 18)]);
  paintBadges(pen, [...frames, ...boxes], state);
  paintSelection(context, camera, theme, state, highlight);
}

/** Blocks and edges in view, without those in frames that are too small to see into. */
export function visible(scene: Scene, camera: Camera, view: Size): { frames: Block[]; boxes: Block[]; edges: SceneEdge[]; stubs: Stub[] } {
  const [right, bottom] = [camera.x + view.width / camera.scale, camera.y + view.height / camera.scale];
  const [short, long] = [SMALLEST_FRAME.short / camera.scale, SMALLEST_FRAME.long / camera.scale];
  const isOpen = (block: Block) => Math.min(block.width, block.height) >= short && Math.max(block.width, block.height) >= long;
  const shown = (block: Block | null) => block === null || block === scene.root || isOpen(block);
  const frames: Block[] = [];
  const boxes: Block[] = [];
  scene.blockIndex.search(camera.x, camera.y, right, bottom, (index) => {
    const block = scene.blocks[index]!;
    if (!shown(block.parent)) return;
    if (block.expanded && isOpen(block)) frames.push(block);
    else boxes.push(block);
  });
  frames.sort((a, b) => a.depth - b.depth);
  const edges: SceneEdge[] = [];
  scene.edgeIndex.search(camera.x, camera.y, right, bottom, (index) => {
    const edge = scene.edges[index]!;
    if (shown(edge.within)) edges.push(edge);
  });
  const stubs: Stub[] = [];
  scene.stubIndex.search(camera.x, camera.y, right, bottom, (index) => {
    const stub = scene.stubs[index]!;
    if (shown(stub.block.parent)) stubs.push(stub);
  });
  return { frames, boxes, edges, stubs };
}
