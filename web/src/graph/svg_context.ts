/** As much of a canvas's drawing context as the graph is painted with, which writes SVG. */

const NUMBER = 100;

export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  lineJoin = "miter";
  private dash: number[] = [];
  private path: string[] = [];
  private readonly parts: string[] = [];
  private transform = "";

  /** The whole document. */
  document(width: number, height: number): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join("\n")}</svg>\n`;
  }

  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void {
    const matrix = [a, b, c, d, e, f].map(rounded);
    this.transform = matrix.join() === "1,0,0,1,0,0" ? "" : ` transform="matrix(${matrix.join(" ")})"`;
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${rounded(x)} ${rounded(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`${this.path.length ? "L" : "M"}${rounded(x)} ${rounded(y)}`);
  }

  bezierCurveTo(...points: number[]): void {
    this.path.push(`C${points.map(rounded).join(" ")}`);
  }

  closePath(): void {
    this.path.push("Z");
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(`M${rounded(x)} ${rounded(y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}Z`);
  }

  roundRect(x: number, y: number, width: number, height: number, radii: number | number[]): void {
    const given = Array.isArray(radii) ? radii : [radii];
    const most = Math.min(Math.abs(width), Math.abs(height)) / 2;
    const [a, b, c, d] = [0, 1, 2, 3].map((corner) => Math.min(most, given[corner] ?? given[corner % 2] ?? given[0] ?? 0)) as [number, number, number, number];
    const [right, bottom] = [x + width, y + height];
    this.moveTo(x + a, y);
    this.lineTo(right - b, y);
    this.corner(b, right, y + b);
    this.lineTo(right, bottom - c);
    this.corner(c, right - c, bottom);
    this.lineTo(x + d, bottom);
    this.corner(d, x, bottom - d);
    this.lineTo(x, y + a);
    this.corner(a, x + a, y);
    this.closePath();
  }

  private corner(radius: number, x: number, y: number): void {
    this.path.push(`A${rounded(radius)} ${rounded(radius)} 0 0 1 ${rounded(x)} ${rounded(y)}`);
  }

  /** Only whole circles are drawn. */
  arc(x: number, y: number, radius: number): void {
    const [start, size] = [`M${rounded(x - radius)} ${rounded(y)}`, rounded(radius)];
    this.path.push(`${start}a${size} ${size} 0 1 0 ${rounded(2 * radius)} 0a${size} ${size} 0 1 0 ${rounded(-2 * radius)} 0Z`);
  }

  fill(): void {
    this.add(`<path d="${this.path.join("")}" ${this.color("fill", this.fillStyle)}`);
  }

  stroke(): void {
    this.add(`<path d="${this.path.join("")}" fill="none" ${this.line()}`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.add(`<rect ${box(x, y, width, height)} ${this.color("fill", this.fillStyle)}`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add(`<rect ${box(x, y, width, height)} fill="none" ${this.line()}`);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, this.color("fill", this.fillStyle));
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="none" ${this.line()}`);
  }

  private text(text: string, x: number, y: number, paint: string): void {
    const anchor = { center: "middle", right: "end" }[this.textAlign] ?? "start";
    const baseline = this.textBaseline === "middle" ? "central" : "auto";
    this.parts.push(
      `<text x="${rounded(x)}" y="${rounded(y)}" text-anchor="${anchor}" dominant-baseline="${baseline}" style="font:${escaped(this.font)}" ${paint}${this.transform}>${escaped(text)}</text>`,
    );
  }

  private color(name: string, value: string): string {
    return `${name}="${escaped(value)}"${this.globalAlpha < 1 ? ` opacity="${rounded(this.globalAlpha)}"` : ""}`;
  }

  private line(): string {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `${this.color("stroke", this.strokeStyle)} stroke-width="${rounded(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}`;
  }

  private add(element: string): void {
    this.parts.push(`${element}${this.transform}/>`);
  }
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}"`;
}

function rounded(value: number): number {
  return Math.round(value * NUMBER) / NUMBER;
}

/** A text of a model never becomes markup. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
}
