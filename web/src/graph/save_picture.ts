/** The picture of the graph as a file: PNG, or SVG whose texts can be searched and edited. */
import { saveFile } from "../components/save";
import { tell } from "../shell/notice";
import type { Stage } from "./stage";
import { SvgContext } from "./svg_context";

/** Browsers draw no larger canvas. */
const MOST_PIXELS = 8192;
const SHARP = 2;

export async function savePicture(stage: Stage, kind: "png" | "svg", name: string): Promise<void> {
  const file = `${name.replace(/[^\w.-]+/g, "_").slice(-80)}.${kind}`;
  try {
    saveFile(kind === "svg" ? svgOf(stage) : await pngOf(stage), file);
  } catch (error) {
    tell(error);
  }
}

function svgOf(stage: Stage): Blob {
  const context = new SvgContext();
  stage.paintWhole(context as unknown as CanvasRenderingContext2D, 1);
  const { width, height } = stage.wholeSize(1);
  return new Blob([context.document(width, height)], { type: "image/svg+xml" });
}

function pngOf(stage: Stage): Promise<Blob> {
  const { width, height } = stage.wholeSize(1);
  const scale = Math.min(SHARP, MOST_PIXELS / width, MOST_PIXELS / height);
  const canvas = Object.assign(document.createElement("canvas"), stage.wholeSize(scale));
  stage.paintWhole(canvas.getContext("2d")!, scale);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large to be saved as PNG; save it as SVG.")))),
  );
}
