/** Values for the inputs of a signature: typed, generated, or from a file. */

import type { TensorSpec } from "../../api/reports";
import { shape } from "../../components/format";
import { base64, hasNpy, npyOf } from "./npy";

/** What an input field contains. */
export type InputValue =
  | { kind: "text"; text: string }
  | { kind: "ready"; description: string; value: unknown };

export const NO_VALUE: InputValue = { kind: "text", text: "" };

/** More elements than these are not written into the field. */
const MOST_TYPED = 64;
const OPEN_IMAGE_SIDE = 64;
const OPEN_LENGTH = 8;

export type Filling = "zeros" | "random";

/** Fill an input: sizes that the signature leaves open become small. */
export function filled(spec: TensorSpec, filling: Filling): InputValue {
  const dims = closedShape(spec.shape);
  const element = filling === "zeros" ? () => 0 : randomOf(spec.dtype);
  const elements = dims.reduce((product, dim) => product * dim, 1);
  if (elements > MOST_TYPED && hasNpy(spec.dtype)) {
    const value = { npy: npyOf(spec.dtype, dims, element) };
    return { kind: "ready", description: `${filling === "zeros" ? "zeros" : "random values"}, ${spec.dtype} ${shape(dims)}`, value };
  }
  return { kind: "text", text: JSON.stringify(nested(dims, elementOf(spec.dtype, filling, element))) };
}

/** Read a file for an input: an array, an image, or text. */
export async function fromFile(file: File, dtype: string): Promise<InputValue> {
  const data = new Uint8Array(await file.arrayBuffer());
  const description = `${file.name}, ${data.length.toLocaleString("en-US")} bytes`;
  if (file.name.endsWith(".npy")) return { kind: "ready", description, value: { npy: base64(data) } };
  if (file.name.endsWith(".json")) return { kind: "text", text: await file.text() };
  if (dtype === "string") return { kind: "ready", description, value: { b64: base64(data) } };
  if (file.type.startsWith("image/")) return { kind: "ready", description, value: { image: base64(data) } };
  return { kind: "text", text: await file.text() };
}

/** The value to send; throws a sentence if the text is not JSON. A string may be written without quotes. */
export function valueToSend(name: string, spec: TensorSpec, input: InputValue): unknown {
  if (input.kind === "ready") return input.value;
  try {
    return JSON.parse(input.text) as unknown;
  } catch {
    if (spec.dtype === "string") return input.text;
    throw new Error(`Input \`${name}\`: expected JSON such as ${exampleOf(spec)}.`);
  }
}

/** The inputs in a pasted request of TensorFlow Serving, or null if it is none. */
export function pastedRequest(text: string, names: readonly string[]): Record<string, InputValue> | null {
  const request = parsed(text);
  if (!isRecord(request)) return null;
  const columns = isRecord(request.inputs) ? request.inputs : columnsOf(request.instances, names);
  const known = names.filter((name) => columns && name in columns);
  if (!columns || known.length === 0) return null;
  return Object.fromEntries(known.map((name) => [name, { kind: "text", text: JSON.stringify(columns[name]) }]));
}

/** A short example of a value. */
export function exampleOf(spec: TensorSpec): string {
  const element = spec.dtype === "string" ? "text" : spec.dtype === "bool" ? true : /^(float|bfloat|half)/.test(spec.dtype) ? 0.5 : 1;
  const rank = spec.shape?.length ?? 1;
  return JSON.stringify(nested(new Array<number>(Math.min(rank, 4)).fill(1), () => element));
}

function columnsOf(instances: unknown, names: readonly string[]): Record<string, unknown> | null {
  if (!Array.isArray(instances)) return null;
  const [only] = names;
  const rows = instances as unknown[];
  if (rows.every(isRecord)) return Object.fromEntries(names.map((name) => [name, rows.map((row) => (row as Record<string, unknown>)[name])]));
  return names.length === 1 && only !== undefined ? { [only]: rows } : null;
}

function closedShape(dims: TensorSpec["shape"]): number[] {
  const isImage = dims?.length === 4;
  return (dims ?? [1]).map((dim, axis) => (dim !== null && dim >= 0 ? dim : axis === 0 ? 1 : isImage ? OPEN_IMAGE_SIDE : OPEN_LENGTH));
}

function randomOf(dtype: string): () => number {
  if (dtype === "bool") return () => Math.floor(Math.random() * 2);
  if (dtype === "uint8") return () => Math.floor(Math.random() * 256);
  if (/int/.test(dtype)) return () => Math.floor(Math.random() * 10);
  return () => Math.random();
}

function elementOf(dtype: string, filling: Filling, element: () => number): () => unknown {
  if (dtype === "string") return () => (filling === "zeros" ? "" : Math.random().toString(36).slice(2, 8));
  if (dtype === "bool") return () => element() > 0;
  return /int/.test(dtype) ? element : () => Number(element().toPrecision(4));
}

function nested(dims: readonly number[], element: () => unknown): unknown {
  const [first, ...rest] = dims;
  return first === undefined ? element() : Array.from({ length: first }, () => nested(rest, element));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
