/** The stored tensors of a model, whatever its format, and their tree by name. */

import type { Inspection } from "../../api/reports";

export interface TensorRow {
  key: string;
  /** The variable that it is loaded into, else its key: what people call it. */
  name: string;
  dtype: string;
  shape: readonly (number | null)[] | null;
  bytes: number | null;
}

const OBJECT_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE";

/** Tensors of a checkpoint, else weights of a Keras file, else variables. */
export function tensorRows({ checkpoint, keras, variables }: Inspection): TensorRow[] {
  if (checkpoint.length > 0) {
    return checkpoint.map(({ variable, ...tensor }) => ({ ...tensor, name: variable ?? tensor.key.replace(OBJECT_SUFFIX, "") }));
  }
  if (keras?.stored.length) {
    return keras.stored.map(({ owner, name, dtype, shape }) => {
      const key = owner ? `${owner}/${name}` : name;
      return { key, name: key, dtype, shape, bytes: bytesOf(dtype, shape) };
    });
  }
  return variables.map(({ name, key, dtype, shape }) => ({
    key: key ?? name,
    name,
    dtype,
    shape,
    bytes: bytesOf(dtype, shape),
  }));
}

/** A folder of names: what begins alike. */
export interface TensorFolder {
  name: string;
  path: string;
  folders: TensorFolder[];
  tensors: TensorRow[];
  count: number;
  bytes: number;
}

/** The tree of names; a folder with one folder in it is joined with that. */
export function treeOf(rows: readonly TensorRow[]): TensorFolder {
  const root = folderOf("", "");
  for (const row of rows) {
    let folder = root;
    const parts = row.name.split("/").slice(0, -1);
    for (const part of parts.slice(0, 64)) {
      const path = `${folder.path}${part}/`;
      let next = folder.folders.find((inner) => inner.name === part);
      if (!next) folder.folders.push((next = folderOf(part, path)));
      folder = next;
    }
    folder.tensors.push(row);
  }
  return summed(root);
}

function folderOf(name: string, path: string): TensorFolder {
  return { name, path, folders: [], tensors: [], count: 0, bytes: 0 };
}

function summed(folder: TensorFolder): TensorFolder {
  folder.folders = folder.folders.map(summed).map(joined);
  const inner = folder.folders;
  folder.count = folder.tensors.length + inner.reduce((sum, { count }) => sum + count, 0);
  folder.bytes = total(folder.tensors.map(({ bytes }) => bytes ?? 0)) + total(inner.map(({ bytes }) => bytes));
  return folder;
}

function joined(folder: TensorFolder): TensorFolder {
  const [only] = folder.folders;
  if (!only || folder.folders.length > 1 || folder.tensors.length > 0) return folder;
  return { ...only, name: `${folder.name}/${only.name}` };
}

function total(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** The last part of a name. */
export function leafName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function bytesOf(dtype: string, shape: readonly (number | null)[] | null): number | null {
  const bits = /(\d+)/.exec(dtype)?.[1];
  const size = dtype === "bool" ? 1 : bits ? Number(bits) / 8 : null;
  if (size === null || shape === null || shape.includes(null)) return null;
  return shape.reduce<number>((product, dim) => product * (dim ?? 0), size);
}
