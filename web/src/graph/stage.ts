/** The canvas: paints when something changed, flies the camera, and tells what is under a point. */
import { between, firstView, fitted, seeingOneOf, toPicture, zoomedAt, type Camera, type Size } from "./camera";
import { Fade, prefersStill } from "./fade";
import { satelliteBox } from "./paint/boxes";
import { paintMinimap } from "./paint/minimap";
import { paint } from "./paint/painter";
import type { PaintState, Target } from "./paint/state";
import { Texts } from "./paint/text";
import { readTheme, type Theme } from "./paint/theme";
import type { Block } from "./scene/block";
import type { Scene } from "./scene/scene";
import type { Stub } from "./scene/stubs";

const FLIGHT = 260;
/** Around a picture that is saved. */
const AROUND = 24;
/** How near to the dot of a stub the pointer must be, in pixels. */
const STUB_REACH = 8;

export class Stage {
  camera: Camera = { x: 0, y: 0, scale: 1 };
  view: Size = { width: 0, height: 0 };
  scene: Scene | null = null;
  readonly state: PaintState = { hovered: null, selected: null, marked: new Set(), overlay: null, controls: false };
  readonly texts: Texts;
  /** Told after each move of the camera. */
  onCamera: (camera: Camera) => void = () => {};
  private theme: Theme;
  private readonly context: CanvasRenderingContext2D;
  private frame = 0;
  private flight: { from: Camera; to: Camera; start: number } | null = null;
  private fresh = true;
  private painted = false;
  private readonly fade = new Fade();

  constructor(readonly canvas: HTMLCanvasElement, readonly minimap: HTMLCanvasElement) {
    this.context = canvas.getContext("2d")!;
    this.theme = readTheme(canvas);
    this.texts = new Texts(document.createElement("canvas").getContext("2d")!, this.theme.sans);
  }

  /** Read the colors again, as after a change between light and dark. */
  updateTheme(): void {
    this.theme = readTheme(this.canvas);
    this.repaint();
  }

  resize(width: number, height: number): void {
    const ratio = devicePixelRatio;
    const keep = this.view.width ? { x: (width - this.view.width) / 2, y: 0 } : { x: 0, y: 0 };
    this.view = { width, height };
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.camera = { ...this.camera, x: this.camera.x - keep.x / this.camera.scale };
    if (this.fresh && this.scene) this.fit(false, true);
    else if (this.state.selected) this.bring(this.state.selected.block);
    this.repaintNow();
  }

  /** Show a new scene; the block with this key stays where it is. */
  show(scene: Scene, steady: string | null): void {
    const before = steady ? this.scene?.byKey.get(steady) : this.steadyBlock();
    const after = before && scene.byKey.get(before.key);
    if (before && after) this.fade.begin(this.canvas);
    this.scene = scene;
    this.state.hovered = null;
    if (this.state.selected) this.state.selected = this.again(this.state.selected);
    if (before && after) {
      const x = before.x + before.width / 2 - (after.x + after.width / 2);
      this.camera = { ...this.camera, x: this.camera.x - x, y: this.camera.y - (before.y - after.y) };
      if (after.expanded && !before.expanded) this.camera = seeingOneOf(this.camera, this.view, after.children);
      this.moved();
    } else if (this.view.width) this.fit(false, true);
    this.repaint();
  }

  /** The block nearest to the middle of the view: what the user looks at. */
  private steadyBlock(): Block | null {
    if (!this.scene || this.fresh) return null;
    if (this.state.selected) return this.state.selected.block;
    const [x, y] = toPicture(this.camera, this.view.width / 2, this.view.height / 2);
    return this.blockAt(x, y);
  }

  private again(target: Target): Target | null {
    const block = this.scene?.byKey.get(target.block.key);
    return block ? { block, satellite: target.satellite } : null;
  }

  /** Everything in view; at first, the top at a size that can be read. */
  fit(fly = true, first = false): void {
    if (!this.scene) return;
    const whole = { x: 0, y: 0, width: this.scene.width, height: this.scene.height };
    this.go(first ? firstView(whole, this.view, this.entry()) : fitted(whole, this.view), fly);
    this.fresh = first;
  }

  /** Where the picture begins: the middle of the highest box, of several that nearest to the middle. */
  private entry(): number {
    const { blocks, width } = this.scene!;
    const top = blocks.reduce((least, block) => (block.expanded ? least : Math.min(least, block.y)), Infinity);
    const middles = blocks.filter((block) => !block.expanded && block.y < top + 60).map((block) => block.x + block.width / 2);
    return middles.reduce((best, x) => (Math.abs(x - width / 2) < Math.abs(best - width / 2) ? x : best), middles[0] ?? width / 2);
  }

  /** A block in the middle of the view, at a size that can be read. */
  center(block: Block, fly = true): void {
    const scale = Math.min(1.2, Math.max(0.8, this.camera.scale));
    const height = block.expanded ? Math.min(block.height, (this.view.height * 0.8) / scale) : block.height;
    this.go({
      scale,
      x: block.x + block.width / 2 - this.view.width / 2 / scale,
      y: block.y + height / 2 - this.view.height / 2 / scale,
    }, fly);
  }

  /** Move only as far as needed to see a block. */
  bring(block: Block): void {
    const margin = 60 / this.camera.scale;
    const [width, height] = [this.view.width / this.camera.scale, this.view.height / this.camera.scale];
    const x = Math.min(Math.max(this.camera.x, block.x + block.width + margin - width), block.left - margin);
    const y = Math.min(Math.max(this.camera.y, block.y + Math.min(block.height, height / 2) + margin - height), block.y - margin);
    if (x !== this.camera.x || y !== this.camera.y) this.go({ ...this.camera, x, y }, true);
  }

  zoom(factor: number, x = this.view.width / 2, y = this.view.height / 2): void {
    this.flight = null;
    this.camera = zoomedAt(this.camera, factor, x, y);
    this.moved();
  }

  pan(dx: number, dy: number): void {
    this.flight = null;
    this.camera = { ...this.camera, x: this.camera.x - dx / this.camera.scale, y: this.camera.y - dy / this.camera.scale };
    this.moved();
  }

  go(camera: Camera, fly: boolean): void {
    const still = !fly || prefersStill();
    if (still) this.camera = camera;
    this.flight = still ? null : { from: this.camera, to: camera, start: performance.now() };
    this.moved();
  }

  private moved(): void {
    this.fresh = false;
    this.onCamera(this.camera);
    this.repaint();
  }

  /** What is at a point of the screen. */
  targetAt(screenX: number, screenY: number): Target | null {
    const [x, y] = toPicture(this.camera, screenX, screenY);
    const block = this.blockAt(x, y);
    if (!block) return null;
    if (x >= block.x || block.expanded) return { block, satellite: -1 };
    const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
    for (let k = 0; k < rows; k++) {
      const box = satelliteBox(block, k);
      if (x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height) return { block, satellite: k };
    }
    return null;
  }

  /** The end of an edge that is not routed, at a point of the screen. */
  stubAt(screenX: number, screenY: number): Stub | null {
    const [x, y] = toPicture(this.camera, screenX, screenY);
    const near = STUB_REACH / this.camera.scale;
    let best: Stub | null = null;
    if (this.camera.scale < 0.35) return null;
    this.scene?.stubIndex.search(x - near, y - near, x + near, y + near, (index) => {
      const stub = this.scene!.stubs[index]!;
      if (Math.hypot(stub.x - x, stub.y - y) <= near) best ??= stub;
    });
    return best;
  }

  private blockAt(x: number, y: number): Block | null {
    let best: Block | null = null;
    this.scene?.blockIndex.search(x, y, x, y, (index) => {
      const block = this.scene!.blocks[index]!;
      if (!best || block.depth > best.depth) best = block;
    });
    return best;
  }

  /** Paint all that is open, whatever the camera sees, in its own coordinates times a scale. */
  paintWhole(context: CanvasRenderingContext2D, scale: number): void {
    if (!this.scene) return;
    const { width, height } = this.wholeSize(scale);
    const pen = { context, texts: this.texts, theme: this.theme, camera: { x: -AROUND, y: -AROUND, scale } };
    paint(pen, this.scene, { width, height }, 1, { ...this.state, hovered: null });
  }

  /** The size of that picture. */
  wholeSize(scale: number): Size {
    const { width = 0, height = 0 } = this.scene ?? {};
    return { width: Math.ceil((width + 2 * AROUND) * scale), height: Math.ceil((height + 2 * AROUND) * scale) };
  }

  repaint(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.repaintNow());
  }

  private repaintNow(): void {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.fly();
    if (!this.scene || !this.view.width) return;
    const pen = { context: this.context, texts: this.texts, theme: this.theme, camera: this.camera };
    paint(pen, this.scene, this.view, devicePixelRatio, this.state);
    const fading = this.fade.paint(this.context);
    paintMinimap(this.minimap, this.scene, this.camera, this.view, this.theme, this.state);
    if (!this.painted) performance.mark("tfport-graph-painted");
    this.painted = true;
    if (this.flight || fading) this.repaint();
  }

  private fly(): void {
    if (!this.flight) return;
    const part = Math.min(1, (performance.now() - this.flight.start) / FLIGHT);
    this.camera = between(this.flight.from, this.flight.to, part);
    if (part === 1) this.flight = null;
    this.onCamera(this.camera);
  }

  end(): void {
    if (this.frame) cancelAnimationFrame(this.frame);
  }
}
