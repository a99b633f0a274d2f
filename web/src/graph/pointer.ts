/** Pointer, wheel and touch on the canvas: drag pans, wheel and pinch zoom at the pointer, click selects. */
import type { Stage } from "./stage";
import { describe, describeStub } from "./describe";
import type { Target } from "./paint/state";
import { farEnds, type Stub } from "./scene/stubs";

export interface PointerEvents {
  onSelect: (target: Target | null) => void;
  onOpen: (target: Target) => void;
}

/** A press that moves less than this is a click. */
const STILL = 4;
const TITLE_HEIGHT = 28;

/** Attach to a canvas; returns a function that detaches. */
export function followPointer(canvas: HTMLCanvasElement, stage: Stage, events: PointerEvents): () => void {
  const pressed = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const place = (event: PointerEvent | WheelEvent | MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const down = (event: PointerEvent) => {
    const [x, y] = place(event);
    canvas.setPointerCapture(event.pointerId);
    pressed.set(event.pointerId, { x, y });
    if (pressed.size === 1) moved = 0;
  };
  const move = (event: PointerEvent) => {
    const [x, y] = place(event);
    const before = pressed.get(event.pointerId);
    if (!before) return hover(x, y);
    const [dx, dy] = [x - before.x, y - before.y];
    moved += Math.abs(dx) + Math.abs(dy);
    if (pressed.size === 2) pinch(event.pointerId, before, { x, y });
    else if (moved > STILL) {
      canvas.dataset.panning = "true";
      stage.pan(dx, dy);
    }
    pressed.set(event.pointerId, { x, y });
  };
  const pinch = (id: number, before: { x: number; y: number }, now: { x: number; y: number }) => {
    const other = [...pressed].find(([key]) => key !== id)![1];
    const distance = (p: { x: number; y: number }) => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
    stage.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    stage.zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  };
  const hover = (x: number, y: number) => {
    const stub = stage.stubAt(x, y);
    if (stub) {
      canvas.title = describeStub(stub, stage.scene!.byKey);
      canvas.dataset.over = "true";
      if (stage.state.hovered?.block !== stub.block) stage.state.hovered = { block: stub.block, satellite: -1 };
      return stage.repaint();
    }
    const target = stage.targetAt(x, y);
    const same = target?.block === stage.state.hovered?.block && target?.satellite === stage.state.hovered?.satellite;
    if (same) return;
    stage.state.hovered = target && !(target.block.expanded && !onTitle(target, y)) ? target : null;
    canvas.title = stage.state.hovered ? describe(stage.state.hovered) : "";
    canvas.dataset.over = String(stage.state.hovered !== null);
    stage.repaint();
  };
  const onTitle = (target: Target, y: number) => y / stage.camera.scale + stage.camera.y - target.block.y <= TITLE_HEIGHT;
  const up = (event: PointerEvent) => {
    const known = pressed.delete(event.pointerId);
    delete canvas.dataset.panning;
    if (known && pressed.size === 0 && moved <= STILL && event.button === 0) {
      const [x, y] = place(event);
      const stub = stage.stubAt(x, y);
      if (stub) return follow(stub);
      const target = stage.targetAt(x, y);
      events.onSelect(target && target.block.expanded && !onTitle(target, y) ? null : target);
      if (target?.block.expandable && target.satellite < 0 && onChevron(target, x, y)) events.onOpen(target);
    }
  };
  /** To the other end of an edge; of several, the box is selected, which shows where they lead. */
  const follow = (stub: Stub) => {
    const ends = farEnds(stub, stage.scene!.byKey);
    const block = ends.length === 1 ? ends[0]! : stub.block;
    events.onSelect({ block, satellite: -1 });
    if (ends.length === 1) stage.center(block);
  };
  const onChevron = (target: Target, x: number, y: number) => {
    const picture = x / stage.camera.scale + stage.camera.x;
    return picture - target.block.x < 24 && stage.camera.scale > 0.4 && (!target.block.expanded || onTitle(target, y));
  };
  const double = (event: MouseEvent) => {
    const [x, y] = place(event);
    const target = stage.targetAt(x, y);
    if (target?.block.expandable && target.satellite < 0 && !onChevron(target, x, y) && (!target.block.expanded || onTitle(target, y))) events.onOpen(target);
  };
  const leave = () => {
    if (!stage.state.hovered) return;
    stage.state.hovered = null;
    stage.repaint();
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) return stage.pan(-event.deltaY * lines - event.deltaX * lines, 0);
    const delta = Math.max(-240, Math.min(240, event.deltaY * lines));
    stage.zoom(Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.0018)), ...place(event));
    if (event.deltaX && !event.ctrlKey) stage.pan(-event.deltaX * lines, 0);
  };
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("dblclick", double);
  canvas.addEventListener("wheel", wheel, { passive: false });
  return () => {
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    canvas.removeEventListener("pointerleave", leave);
    canvas.removeEventListener("dblclick", double);
    canvas.removeEventListener("wheel", wheel);
  };
}
