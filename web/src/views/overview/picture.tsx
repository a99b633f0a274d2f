/** Outputs that look like images. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { OutputValue } from "../../api/reports";

const LEAST_SIDE = 12;
const MOST_SIDE = 2048;

interface PictureProps {
  rows: number[][] | number[][][];
  width: number;
  height: number;
  channels: number;
}

/** The first image of an output of shape [n, height, width, 1 | 3 | 4], or null if it does not look like one. */
export function pictureOf({ shape, dtype, value }: OutputValue): PictureProps | null {
  const [batch, height = 0, width = 0, channels = 0] = shape;
  const sides = [height, width].every((side) => side >= LEAST_SIDE && side <= MOST_SIDE);
  if (shape.length !== 4 || !batch || !sides || ![1, 3, 4].includes(channels) || dtype === "string") return null;
  return { rows: (value as number[][][][])[0] ?? [], width, height, channels };
}

export function Picture({ rows, width, height, channels }: PictureProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    context?.putImageData(new ImageData(pixelsOf(rows as number[][][], channels), width, height), 0, 0);
  }, [rows]);
  return (
    <figure class="picture">
      <canvas ref={canvas} width={width} height={height} role="img" aria-label={`The output as a ${width} × ${height} image`} />
      <figcaption class="soft">The first in the batch, scaled from black to white.</figcaption>
    </figure>
  );
}

function pixelsOf(rows: number[][][], channels: number): Uint8ClampedArray<ArrayBuffer> {
  const values = rows.flat(2).map(Number);
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const range = values.reduce((most, value) => Math.max(most, value), -Infinity) - low || 1;
  const pixels = new Uint8ClampedArray((values.length / channels) * 4);
  for (let pixel = 0; pixel < values.length / channels; pixel += 1) {
    for (let color = 0; color < 3; color += 1) {
      const value = values[pixel * channels + (channels === 1 ? 0 : color)] ?? 0;
      pixels[pixel * 4 + color] = (255 * (value - low)) / range;
    }
    pixels[pixel * 4 + 3] = 255;
  }
  return pixels;
}
