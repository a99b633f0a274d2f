/** Texts of the picture: measured, cut to fit, and without characters that would disturb others. */
import type { Measure } from "../scene/sizes";

export const FONTS = { title: "600 12px", subtitle: "11px", satellite: "10px", frame: "600 12px", label: "10px" } as const;
export type TextStyle = keyof typeof FONTS;

const LONGEST = 120;
// Control characters, and those that change the direction of what follows.
const DISTURBING = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A name as it is drawn: bounded, with a sign for each character that cannot be seen. */
export function drawable(text: string): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST / 2)}…${text.slice(-LONGEST / 2)}` : text;
  return short.replace(DISTURBING, "�");
}

export class Texts {
  private readonly widths = new Map<string, number>();
  private readonly cut = new Map<string, string>();

  constructor(private readonly context: CanvasRenderingContext2D, private readonly sans: string) {}

  font(style: TextStyle, pixels?: number): string {
    const font = pixels ? FONTS[style].replace(/\d+px/, `${pixels}px`) : FONTS[style];
    return `${font} ${this.sans}`;
  }

  width(text: string, style: TextStyle): number {
    const key = `${style} ${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 100_000) this.widths.clear();
      this.context.font = this.font(style);
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  readonly measure: Measure = (text, style) => this.width(drawable(text), style);

  /** A text that is at most this wide; `keep` says which end stays. */
  fit(raw: string, width: number, style: TextStyle, keep: "start" | "end"): string {
    const text = drawable(raw);
    if (this.width(text, style) <= width) return text;
    const key = `${style} ${keep} ${Math.round(width)} ${text}`;
    let fitting = this.cut.get(key);
    if (fitting === undefined) {
      if (this.cut.size > 50_000) this.cut.clear();
      fitting = this.shorten([...text], width, style, keep);
      this.cut.set(key, fitting);
    }
    return fitting;
  }

  private shorten(letters: string[], width: number, style: TextStyle, keep: "start" | "end"): string {
    const part = (n: number) => (keep === "start" ? letters.slice(0, n).join("") + "…" : "…" + letters.slice(letters.length - n).join(""));
    let [low, high] = [0, letters.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.width(part(middle), style) <= width) low = middle;
      else high = middle - 1;
    }
    return low > 0 ? part(low) : "";
  }
}
