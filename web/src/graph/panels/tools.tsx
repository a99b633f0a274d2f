/** The buttons over the graph. */
import type { ComponentChildren } from "preact";
import type { Explorer } from "../explorer";
import { savePicture } from "../save_picture";
import type { Stage } from "../stage";

interface ToolsProps {
  stage: Stage;
  explorer: Explorer;
  /** What saved pictures are called. */
  name: string;
  controls: boolean;
  onControls: (shown: boolean) => void;
  side: boolean;
  onSide: (open: boolean) => void;
}

function Tool(props: { label: string; pressed?: boolean; onClick: () => void; children: ComponentChildren }) {
  return (
    <button type="button" title={props.label} aria-label={props.label} aria-pressed={props.pressed} onClick={props.onClick}>
      <svg viewBox="0 0 20 20" aria-hidden="true">{props.children}</svg>
    </button>
  );
}

export function Tools({ stage, explorer, name, controls, onControls, side, onSide }: ToolsProps) {
  return (
    <div class="graph-tools" role="toolbar" aria-label="Graph">
      <Tool label="Search and outline (/)" pressed={side} onClick={() => onSide(!side)}>
        <circle cx="9" cy="9" r="5" /><path d="M13 13l4 4" />
      </Tool>
      <Tool label="Zoom in (+)" onClick={() => stage.zoom(1.3)}><path d="M10 4v12M4 10h12" /></Tool>
      <Tool label="Zoom out (-)" onClick={() => stage.zoom(1 / 1.3)}><path d="M4 10h12" /></Tool>
      <Tool label="Fit (0)" onClick={() => stage.fit()}><path d="M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4" /></Tool>
      <Tool label="Expand all" onClick={() => void explorer.expandAll()}><path d="M6 8l4-4 4 4M6 12l4 4 4-4" /></Tool>
      <Tool label="Collapse all" onClick={() => void explorer.collapseAll()}><path d="M6 4l4 4 4-4M6 16l4-4 4 4" /></Tool>
      <Tool label="Control edges" pressed={controls} onClick={() => onControls(!controls)}>
        <path d="M5 4v3M5 10v2M5 15v1M15 4v3M15 10v2M15 15v1" /><path d="M8 10h4" />
      </Tool>
      <button type="button" class="graph-save" title="Save the picture as PNG" onClick={() => void savePicture(stage, "png", name)}>PNG</button>
      <button type="button" class="graph-save" title="Save the picture as SVG" onClick={() => void savePicture(stage, "svg", name)}>SVG</button>
    </div>
  );
}
