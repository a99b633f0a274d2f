/** Which part of the picture the canvas shows: a scale, and the point of the picture at the top left. */

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Rectangle extends Size {
  x: number;
  y: number;
}

/** Boxes are drawn at most this large. */
export const LARGEST = 3;
const SMALLEST = 0.002;
const FIRST_LARGEST = 1.1;
const FIRST_SMALLEST = 0.75;
/** Around a picture that fits; the tools are at the top, in a narrow view in two rows (`graph.css`). */
const MARGIN = { side: 32, top: 60, narrowTop: 108, bottom: 28 } as const;
const NARROW = 600;

const topOf = (view: Size): number => (view.width < NARROW ? MARGIN.narrowTop : MARGIN.top);

export function toScreen(camera: Camera, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.scale, (y - camera.y) * camera.scale];
}

export function toPicture(camera: Camera, x: number, y: number): [number, number] {
  return [x / camera.scale + camera.x, y / camera.scale + camera.y];
}

/** Zoom by a factor such that the point under (x, y) on the screen stays there. */
export function zoomedAt(camera: Camera, factor: number, x: number, y: number): Camera {
  const scale = Math.min(LARGEST, Math.max(SMALLEST, camera.scale * factor));
  const [px, py] = toPicture(camera, x, y);
  return { scale, x: px - x / scale, y: py - y / scale };
}

/** All of a rectangle in the middle of the view. */
export function fitted(
  rectangle: Rectangle, view: Size, largest = FIRST_LARGEST,
): Camera {
  const [width, height] = [view.width - 2 * MARGIN.side, view.height - topOf(view) - MARGIN.bottom];
  const scale = Math.max(SMALLEST, Math.min(largest, width / Math.max(1, rectangle.width), height / Math.max(1, rectangle.height)));
  return {
    scale,
    x: rectangle.x + rectangle.width / 2 - view.width / 2 / scale,
    y: rectangle.y + rectangle.height / 2 - (topOf(view) + height / 2) / scale,
  };
}

/** The first view: all of it, unless that would be too small to read; then the top, around `x`. */
export function firstView(picture: Size, view: Size, x: number): Camera {
  const all = fitted({ x: 0, y: 0, ...picture }, view);
  if (all.scale >= FIRST_SMALLEST) return all;
  const scale = Math.max(FIRST_SMALLEST, Math.min(0.9, (view.width - 64) / Math.max(1, picture.width)));
  const half = view.width / 2 / scale;
  const fits = picture.width * scale <= view.width - 64;
  const middle = fits ? picture.width / 2 : Math.min(Math.max(x, half - 32), Math.max(half, picture.width - half + 32));
  return { scale, x: middle - half, y: -topOf(view) / scale };
}

/** The same view if it shows one of the boxes, otherwise at the nearest: an open scope may be wide, and empty in its middle. */
export function seeingOneOf(camera: Camera, view: Size, boxes: readonly Rectangle[]): Camera {
  const [width, height] = [view.width / camera.scale, view.height / camera.scale];
  const { x, y } = camera;
  const isSeen = (box: Rectangle) => box.x + box.width > x && box.x < x + width && box.y + box.height > y && box.y < y + height;
  if (!boxes.length || !width || boxes.some(isSeen)) return camera;
  const away = (box: Rectangle) => Math.hypot(box.x + box.width / 2 - x - width / 2, box.y - y - height / 3);
  const nearest = boxes.reduce((best, box) => (away(box) < away(best) ? box : best));
  return { ...camera, x: nearest.x + nearest.width / 2 - width / 2, y: nearest.y - height / 3 };
}

/** Between two cameras, for a smooth flight. */
export function between(from: Camera, to: Camera, part: number): Camera {
  const eased = part < 0.5 ? 4 * part ** 3 : 1 - (-2 * part + 2) ** 3 / 2;
  const scale = from.scale * (to.scale / from.scale) ** eased;
  const share = from.scale === to.scale ? eased : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  return { scale, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
