/** Paints the ends of edges that are not routed: a line with a dot, and how many they are. */
import type { Camera } from "../camera";
import { stubBase, type Stub } from "../scene/stubs";
import type { Highlight } from "./state";
import type { Texts } from "./text";
import type { Theme } from "./theme";

const SMALLEST = 0.35;
export const DOT = 3.5;

export function paintStubs(
  context: CanvasRenderingContext2D, stubs: readonly Stub[], camera: Camera, theme: Theme, texts: Texts, highlight: Highlight | null,
): void {
  if (camera.scale < SMALLEST) return;
  context.font = texts.font("label");
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const stub of stubs) {
    const color = colorOf(stub, theme, highlight);
    context.strokeStyle = color;
    context.fillStyle = color;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(stub.x, stubBase(stub));
    context.lineTo(stub.x, stub.y);
    context.stroke();
    context.beginPath();
    context.arc(stub.x, stub.y, DOT, 0, 2 * Math.PI);
    context.fill();
    const count = stub.edges.reduce((sum, { edges }) => sum + edges.length, 0);
    if (count > 1) context.fillText(count.toLocaleString("en"), stub.x + DOT + 3, stub.y + 0.5);
  }
}

function colorOf({ edges }: Stub, theme: Theme, highlight: Highlight | null): string {
  if (edges.some((edge) => highlight?.into.has(edge))) return theme.edgeIn;
  if (edges.some((edge) => highlight?.out.has(edge))) return theme.edgeOut;
  return theme.edge;
}
