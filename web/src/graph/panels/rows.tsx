/** A long list of which only the rows in sight are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export const ROW = 26;
const AROUND = 8;

interface RowsProps {
  role: "tree" | "listbox";
  label: string;
  count: number;
  /** The row with the focus, or -1. */
  active: number;
  id: (index: number) => string;
  row: (index: number, style: { top: string }) => ComponentChildren;
  onKey: (event: KeyboardEvent) => void;
}

export function Rows({ role, label, count, active, id, row, onKey }: RowsProps) {
  const element = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, last: 60 });
  const look = () => {
    const { scrollTop, clientHeight } = element.current!;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - AROUND);
    const last = Math.ceil((scrollTop + clientHeight) / ROW) + AROUND;
    setRange((now) => (now.first === first && now.last === last ? now : { first, last }));
  };
  useEffect(look, [count]);
  useEffect(() => {
    const list = element.current!;
    if (active < 0) return;
    if (active * ROW < list.scrollTop) list.scrollTop = active * ROW;
    else if ((active + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (active + 1) * ROW - list.clientHeight;
  }, [active, count]);
  const shown: ComponentChildren[] = [];
  for (let k = range.first; k < Math.min(count, range.last); k++) shown.push(row(k, { top: `${k * ROW}px` }));
  const known = active >= range.first && active < Math.min(count, range.last);
  return (
    <div
      ref={element} class="rows" role={role} aria-label={label} tabIndex={0} onScroll={look} onKeyDown={onKey}
      aria-activedescendant={known ? id(active) : undefined}
    >
      <div role="presentation" style={{ height: `${count * ROW}px` }}>{shown}</div>
    </div>
  );
}
