/** The picture before a change, fading out over the one after it. */

const DURATION = 160;

/** Whether the user asked for no motion. */
export function prefersStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Fade {
  private old: HTMLCanvasElement | null = null;
  private start = 0;

  /** Keep what a canvas shows now. */
  begin(canvas: HTMLCanvasElement): void {
    if (prefersStill() || !canvas.width || !canvas.height) return;
    this.old = document.createElement("canvas");
    this.old.width = canvas.width;
    this.old.height = canvas.height;
    this.old.getContext("2d")!.drawImage(canvas, 0, 0);
    this.start = performance.now();
  }

  /** Paint what is left of it; whether there is more to come. */
  paint(context: CanvasRenderingContext2D): boolean {
    if (!this.old) return false;
    const part = (performance.now() - this.start) / DURATION;
    if (part >= 1 || this.old.width !== context.canvas.width || this.old.height !== context.canvas.height) {
      this.old = null;
      return false;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1 - part;
    context.drawImage(this.old, 0, 0);
    context.globalAlpha = 1;
    return true;
  }
}
