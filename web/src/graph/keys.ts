/** The keyboard on the canvas. */
import type { Explorer } from "./explorer";
import type { Target } from "./paint/state";
import { neighbor, type Direction } from "./neighbors";
import type { Stage } from "./stage";

const STEP = 80;
const ARROWS: Record<string, Direction> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const PANS: Record<Direction, [number, number]> = { up: [0, STEP], down: [0, -STEP], left: [STEP, 0], right: [-STEP, 0] };

export interface KeyEvents {
  onSelect: (target: Target | null) => void;
  onSearch: () => void;
  /** To the next or previous search result. */
  onStep: (by: 1 | -1) => void;
  onOpenGraph: (id: string) => void;
}

/** Whether keys are letters there. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Handle a key; whether it was one of the graph's. */
export function handleKey(event: KeyboardEvent, stage: Stage, explorer: Explorer, events: KeyEvents): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const selected = stage.state.selected;
  const direction = ARROWS[event.key];
  if (direction) {
    const next = selected && stage.scene && !event.shiftKey ? neighbor(stage.scene, selected.block, direction) : null;
    if (next) {
      events.onSelect({ block: next, satellite: -1 });
      stage.bring(next);
    } else stage.pan(...PANS[direction]);
    return true;
  }
  switch (event.key) {
    case "+":
    case "=":
      stage.zoom(1.25);
      return true;
    case "-":
      stage.zoom(1 / 1.25);
      return true;
    case "0":
      stage.fit();
      return true;
    case "Enter":
    case " ":
      if (selected) void explorer.toggle(selected.block);
      return selected !== null;
    case "Escape":
      if (selected) events.onSelect(null);
      return selected !== null;
    case "f":
      if (selected) stage.center(selected.block);
      return selected !== null;
    case "n":
    case "N":
      events.onStep(event.key === "n" ? 1 : -1);
      return true;
    case "o":
      if (selected?.block.calls[0]) events.onOpenGraph(selected.block.calls[0]);
      return selected !== null;
    case "/":
      events.onSearch();
      return true;
    default:
      return false;
  }
}
