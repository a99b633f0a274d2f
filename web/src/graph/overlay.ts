/** Colors that a view puts on the nodes of a graph. */

export type Tone = "bad" | "warn" | "good" | "added" | "gone" | "changed" | "note";

export interface LegendEntry {
  label: string;
  tone: Tone;
}

type ByNode<T> = Map<string, Map<string, T>>;

export interface Overlay {
  title: string;
  legend: LegendEntry[];
  /** Graph id, node name: an index into the legend. */
  tones?: ByNode<number>;
  /** Graph id, node name: a number for a heat scale in place of tones. */
  values?: ByNode<number>;
  unit?: string;
}
