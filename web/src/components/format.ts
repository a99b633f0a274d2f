/** Numbers, sizes and shapes as people read them. */

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** `12.3 MB`, in powers of 1,000 as file managers show them. */
export function bytes(size: number | null): string {
  if (size === null) return "";
  let unit = 0;
  while (size >= 1000 && unit < UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit && size < 100 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}

/** `1 node`, `1,234 nodes`. */
export function count(number: number, noun: string): string {
  const ending = number === 1 ? "" : /(s|x|ch|sh)$/.test(noun) ? "es" : "s";
  return `${number.toLocaleString("en-US")} ${noun}${ending}`;
}

/** A whole number with separators. */
export function whole(number: number): string {
  return number.toLocaleString("en-US");
}

/** A number with few digits. */
export function short(number: number | null): string {
  if (number === null) return "–";
  if (Number.isInteger(number) && Math.abs(number) < 1e7) return whole(number);
  const size = Math.abs(number);
  return size >= 1e-3 && size < 1e6 ? String(Number(number.toPrecision(5))) : Number(number.toPrecision(4)).toExponential();
}

/** Seconds as the unit that fits. */
export function seconds(time: number): string {
  if (time < 1e-3) return `${(time * 1e6).toFixed(0)} µs`;
  if (time < 1) return `${(time * 1e3).toFixed(time < 0.1 ? 2 : 0)} ms`;
  return `${time.toFixed(2)} s`;
}

/** Milliseconds with the digits that matter. */
export function milliseconds(time: number): string {
  return time >= 100 ? `${Math.round(time)} ms` : `${time.toFixed(time >= 1 ? 2 : 3)} ms`;
}

/** `[?, 224, 224, 3]`; of an unknown rank: `any shape`. */
export function shape(dims: readonly (number | null)[] | null): string {
  if (dims === null) return "any shape";
  return `[${dims.map((dim) => (dim === null || dim < 0 ? "?" : dim)).join(", ")}]`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").pop() || path;
}

/** Names of files and folders that say nothing about a model. */
const GENERIC = /^(\d+|data|exports?|files?|graph|models?|frozen_inference_graph|saved_model|weights)(\.\w+)?$/i;

/** The name of a model; one that says nothing gets its folders in front. */
export function modelTitle({ name, path }: { name: string; path: string }): string {
  if (!GENERIC.test(name)) return name;
  const parts = path.replace(/\/+$/, "").split("/").filter(Boolean);
  const start = parts.findLastIndex((part) => !GENERIC.test(part));
  return parts.slice(start < 0 ? -1 : Math.max(start, parts.length - 4)).join("/") || name;
}

/** How the formats are called. */
export function kindTitle(kind: string): string {
  return KINDS[kind] ?? kind.replaceAll("_", " ");
}

const KINDS: Record<string, string> = {
  saved_model: "SavedModel",
  graph_def: "GraphDef",
  graph_def_text: "GraphDef (text)",
  meta_graph: "MetaGraph",
  checkpoint: "checkpoint",
  tfjs: "TF.js graph model",
  tfjs_layers: "TF.js layers model",
  keras: "Keras",
  keras_h5: "Keras HDF5",
  keras_v3: "Keras 3",
  lite: "TensorFlow Lite",
};
