/** The colors of the picture, from the style sheet: a canvas cannot use CSS variables itself. */
import type { Tone } from "../overlay";

const COLORS = {
  paper: "--paper",
  ink: "--ink",
  soft: "--soft",
  accent: "--accent",
  accentWash: "--accent-wash",
  node: "--graph-node",
  nodeLine: "--graph-node-line",
  scope: "--graph-scope",
  scopeLine: "--graph-scope-line",
  frameEven: "--graph-frame-even",
  frameOdd: "--graph-frame-odd",
  edge: "--graph-edge",
  edgeIn: "--graph-edge-in",
  edgeOut: "--graph-edge-out",
  control: "--graph-control",
  satellite: "--graph-satellite",
  mark: "--graph-mark",
  shadow: "--graph-shadow",
} as const;

const TONES: readonly Tone[] = ["bad", "warn", "good", "added", "gone", "changed", "note"];

/** A glyph for each tone, so that no meaning is in the color alone. */
export const GLYPHS: Record<Tone, string> = {
  bad: "✕", warn: "!", good: "✓", added: "+", gone: "−", changed: "≠", note: "i",
};

/** What an op does, roughly: each has a color at the edge of its box. */
export const FAMILIES = ["product", "activation", "normal", "pool", "shape", "math", "flow", "state", "text", "other"] as const;
export type Family = (typeof FAMILIES)[number];

export interface Theme extends Record<keyof typeof COLORS, string> {
  tones: Record<Tone, { line: string; wash: string }>;
  families: Record<Family, string>;
  heat: string[];
  sans: string;
}

export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim() || "#888888";
  const named = Object.fromEntries(Object.entries(COLORS).map(([key, name]) => [key, value(name)]));
  return {
    ...(named as Record<keyof typeof COLORS, string>),
    tones: Object.fromEntries(
      TONES.map((tone) => [tone, { line: value(`--graph-${tone}`), wash: value(`--graph-${tone}-wash`) }]),
    ) as Theme["tones"],
    families: Object.fromEntries(FAMILIES.map((f) => [f, value(`--graph-family-${f}`)])) as Theme["families"],
    heat: [0, 1, 2, 3, 4, 5].map((k) => value(`--graph-heat-${k}`)),
    sans: style.getPropertyValue("--sans").trim() || "sans-serif",
  };
}
