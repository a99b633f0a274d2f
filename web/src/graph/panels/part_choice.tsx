/** The choice of a signature, or everything in the graph. */
import type { GraphPart } from "../../api/types";
import { drawable } from "../paint/text";

interface PartChoiceProps {
  parts: readonly GraphPart[];
  /** The index of the part, or -1 for everything. */
  value: number;
  onChange: (index: number) => void;
}

export function PartChoice({ parts, value, onChange }: PartChoiceProps) {
  return (
    <label class="graph-parts">
      <span class="graph-hidden">What to show</span>
      <select value={value} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {parts.map((part, index) => (
          <option key={part.name} value={index}>{part.name ? `signature ${drawable(part.name)}` : "the outputs"}</option>
        ))}
        <option value={-1}>everything, with loading and saving</option>
      </select>
    </label>
  );
}
