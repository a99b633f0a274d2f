/** The sizes of boxes, from the widths of their texts. */
import type { Block } from "./block";

/** The width of a text in pixels at the size of a title, a subtitle or a satellite. */
export type Measure = (text: string, style: "title" | "subtitle" | "satellite") => number;

export const BOX = { least: 64, most: 208, oneLine: 28, twoLines: 42, scope: 46, side: 12, chevron: 16, stripe: 4 } as const;
export const SATELLITE = { height: 18, gap: 4, side: 6, most: 148, least: 26, glyph: 12, away: 14 } as const;

export interface BoxSize {
  /** From the left end, satellites included, to the middle of the box. */
  left: number;
  right: number;
  height: number;
  boxWidth: number;
  boxHeight: number;
}

/** The size of a block that is not expanded; for an expanded one, the least that its title needs. */
export function sizeOf(block: Block, measure: Measure): BoxSize {
  const extra = 2 * BOX.side + (block.expandable ? BOX.chevron : 0) + (block.kind === "node" ? BOX.stripe : 0);
  const text = Math.max(measure(block.title, "title"), block.subtitle ? measure(block.subtitle, "subtitle") : 0);
  const boxWidth = Math.ceil(Math.min(BOX.most, Math.max(BOX.least, text + extra)));
  if (block.expanded) {
    const title = Math.ceil(Math.min(BOX.most * 1.5, measure(frameTitle(block), "title") + 124));
    return { left: title / 2, right: title / 2, height: BOX.scope, boxWidth: title, boxHeight: BOX.scope };
  }
  const boxHeight = block.kind !== "node" ? BOX.scope : block.subtitle ? BOX.twoLines : BOX.oneLine;
  const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
  const beside = rows ? SATELLITE.away + satelliteWidth(block, measure) : 0;
  const height = Math.max(boxHeight, rows * (SATELLITE.height + SATELLITE.gap) - SATELLITE.gap);
  return { left: boxWidth / 2 + beside, right: boxWidth / 2, height, boxWidth, boxHeight };
}

/** The title of an expanded block: a call is named by what it calls. */
export function frameTitle(block: Block): string {
  return block.kind === "node" && block.subtitle ? block.subtitle : block.title;
}

/** The text of a satellite: the last part of its name, and its shape. */
export function satelliteLabel(block: Block, index: number): string {
  if (index === block.satellites.length) return `+${block.moreSatellites.toLocaleString("en")} more`;
  const { hierarchy } = block.instance;
  const { node, via } = block.satellites[index]!;
  const name = hierarchy.graph.names[node]!;
  const shape = hierarchy.shapeOf(node) || hierarchy.shapeOf(via[0] ?? -1);
  return `${name.slice(name.lastIndexOf("/") + 1) || name}${shape && ` ${shape}`}`;
}

/** The width of the column of satellites beside a block. */
export function satelliteWidth(block: Block, measure: Measure): number {
  let widest = 0;
  const rows = block.satellites.length + (block.moreSatellites ? 1 : 0);
  for (let k = 0; k < rows; k++) widest = Math.max(widest, measure(satelliteLabel(block, k), "satellite"));
  return Math.ceil(Math.min(SATELLITE.most, Math.max(SATELLITE.least, widest + 2 * SATELLITE.side + SATELLITE.glyph)));
}
