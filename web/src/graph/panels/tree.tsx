/** The picture as a list: scopes and nodes, open and selected as in the picture. */
import { useState } from "preact/hooks";
import { satelliteLabel, frameTitle } from "../scene/sizes";
import type { Block } from "../scene/block";
import { drawable } from "../paint/text";
import { Rows } from "./rows";

interface TreeProps {
  label: string;
  blocks: readonly Block[];
  selected: string | null;
  onSelect: (block: Block) => void;
  onToggle: (block: Block) => void;
}

const id = (index: number) => `graph-tree-${index}`;

export function Tree({ label, blocks, selected, onSelect, onToggle }: TreeProps) {
  const [focused, setFocused] = useState<string | null>(null);
  const key = focused ?? selected;
  const active = Math.max(0, blocks.findIndex((block) => block.key === key));
  const focus = (index: number) => {
    const block = blocks[Math.max(0, Math.min(blocks.length - 1, index))];
    if (!block) return;
    setFocused(block.key);
    onSelect(block);
  };
  const onKey = (event: KeyboardEvent) => {
    const block = blocks[active];
    if (!block) return;
    const up = () => focus(block.parent ? blocks.indexOf(block.parent) : active);
    const moves: Record<string, () => void> = {
      ArrowDown: () => focus(active + 1),
      ArrowUp: () => focus(active - 1),
      Home: () => focus(0),
      End: () => focus(blocks.length - 1),
      PageDown: () => focus(active + 15),
      PageUp: () => focus(active - 15),
      ArrowRight: () => (block.expandable && !block.expanded ? onToggle(block) : focus(active + 1)),
      ArrowLeft: () => (block.expanded ? onToggle(block) : up()),
      Enter: () => (block.expandable ? onToggle(block) : onSelect(block)),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };
  const row = (index: number, style: { top: string }) => {
    const block = blocks[index]!;
    const choose = () => {
      setFocused(block.key);
      onSelect(block);
    };
    return (
      <div
        key={block.key} id={id(index)} class="row" role="treeitem" aria-level={block.depth}
        aria-expanded={block.expandable ? block.expanded : undefined} aria-selected={block.key === selected}
        style={{ ...style, paddingLeft: `${6 + 12 * Math.min(block.depth - 1, 12)}px` }} onClick={choose}
        onDblClick={() => onToggle(block)}
      >
        <span class="twist" aria-hidden="true" onClick={(event) => { event.stopPropagation(); onToggle(block); }}>
          {block.expandable ? (block.expanded ? "▾" : "▸") : ""}
        </span>
        <span class="name">{drawable(nameOf(block))}</span>
        <span class="more">{drawable(moreOf(block))}</span>
        <span class="graph-hidden">{beside(block)}</span>
      </div>
    );
  };
  return <Rows role="tree" label={label} count={blocks.length} active={active} id={id} row={row} onKey={onKey} />;
}

function nameOf(block: Block): string {
  if (block.expandable && block.kind === "node") return frameTitle(block);
  return block.kind === "node" ? block.instance.hierarchy.label(block.item) : block.title;
}

function moreOf(block: Block): string {
  if (block.kind !== "node" || block.expandable) return block.size.toLocaleString("en");
  const op = block.instance.hierarchy.opOf(block.instance.hierarchy.nodeOf(block.item));
  return op === nameOf(block) ? "" : op;
}

/** For screen readers: what else the picture shows of a node. */
function beside(block: Block): string {
  const names = block.satellites.map((_, k) => satelliteLabel(block, k));
  if (block.moreSatellites) names.push(`${block.moreSatellites} more`);
  if (block.expandable) return block.kind === "node" ? "nodes in its function" : "nodes";
  return names.length ? drawable(`with ${names.join(", ")}`) : "";
}
