/** The nodes that a search found. */
import type { NodeAddress } from "../../api/types";
import { drawable } from "../paint/text";
import { Rows } from "./rows";

export interface Found {
  matches: NodeAddress[];
  total: number;
  /** Why there are none, or not all. */
  note: string;
}

interface ResultsProps {
  found: Found;
  /** The number of graphs that were not searched. */
  left: number;
  current: number;
  onCurrent: (index: number) => void;
  opOf: (address: NodeAddress) => string;
  onLeave: () => void;
}

function countText(current: number, total: number): string {
  if (total === 0) return "No nodes";
  const place = current >= 0 ? `${(current + 1).toLocaleString("en")} of ` : "";
  return `${place}${total.toLocaleString("en")} ${total === 1 ? "node" : "nodes"}`;
}

const id = (index: number) => `graph-result-${index}`;

export function Results({ found, left, current, onCurrent, opOf, onLeave }: ResultsProps) {
  const { matches, total, note } = found;
  const step = (by: number) => matches.length && onCurrent((current + by + matches.length) % matches.length);
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, () => void> = {
      ArrowDown: () => step(1), ArrowUp: () => step(-1), n: () => step(1), N: () => step(-1),
      Home: () => onCurrent(0), End: () => onCurrent(matches.length - 1), Enter: () => onCurrent(Math.max(0, current)), Escape: onLeave,
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };
  const row = (index: number, style: { top: string }) => {
    const address = matches[index]!;
    const slash = address.node.lastIndexOf("/");
    return (
      <div
        key={`${address.graph} ${address.node}`} id={id(index)} class="row result" role="option" aria-selected={index === current}
        style={style} title={drawable(address.node)} onClick={() => onCurrent(index)}
      >
        <span class="name">
          {drawable(address.node.slice(slash + 1))}
          {slash > 0 && <span class="where"> {drawable(address.node.slice(0, slash))}</span>}
        </span>
        <span class="more">{drawable(opOf(address))}</span>
      </div>
    );
  };
  return (
    <>
      <div class="status">
        <span class="count" role="status">
          {(total > 0 || !note) && countText(current, total)}
          {total > 0 && note && ". "}
          {note}
          {left > 0 && `; ${left.toLocaleString("en")} graphs not searched`}
        </span>
        <button type="button" aria-label="Previous result (N)" disabled={!matches.length} onClick={() => step(-1)}>↑</button>
        <button type="button" aria-label="Next result (n)" disabled={!matches.length} onClick={() => step(1)}>↓</button>
      </div>
      <Rows role="listbox" label="Search results" count={matches.length} active={current} id={id} row={row} onKey={onKey} />
    </>
  );
}
