/** Arrays as .npy files in base 64: large generated inputs travel like this. */

interface Layout {
  code: string;
  create: (elements: number) => ArrayBufferView & { [index: number]: number | bigint };
  whole: boolean;
  big?: boolean;
}

const LAYOUTS: Record<string, Layout> = {
  float32: { code: "<f4", create: (n) => new Float32Array(n), whole: false },
  float64: { code: "<f8", create: (n) => new Float64Array(n), whole: false },
  uint8: { code: "|u1", create: (n) => new Uint8Array(n), whole: true },
  int8: { code: "|i1", create: (n) => new Int8Array(n), whole: true },
  bool: { code: "|b1", create: (n) => new Uint8Array(n), whole: true },
  uint16: { code: "<u2", create: (n) => new Uint16Array(n), whole: true },
  int16: { code: "<i2", create: (n) => new Int16Array(n), whole: true },
  uint32: { code: "<u4", create: (n) => new Uint32Array(n), whole: true },
  int32: { code: "<i4", create: (n) => new Int32Array(n), whole: true },
  int64: { code: "<i8", create: (n) => new BigInt64Array(n), whole: true, big: true },
  uint64: { code: "<u8", create: (n) => new BigUint64Array(n), whole: true, big: true },
};

/** Whether arrays of a type can be written. */
export function hasNpy(dtype: string): boolean {
  return dtype in LAYOUTS;
}

/** An array whose elements a function makes, as a .npy file in base 64. */
export function npyOf(dtype: string, dims: readonly number[], element: () => number): string {
  const layout = LAYOUTS[dtype];
  if (!layout) throw new Error(`There is no .npy type for ${dtype}.`);
  const array = layout.create(dims.reduce((product, dim) => product * dim, 1));
  const length = array.byteLength / bytesOf(layout.code);
  for (let index = 0; index < length; index += 1) {
    const value = layout.whole ? Math.floor(element()) : element();
    array[index] = layout.big ? BigInt(value) : value;
  }
  const header = headerOf(layout.code, dims);
  const file = new Uint8Array(header.length + array.byteLength);
  file.set(header);
  file.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), header.length);
  return base64(file);
}

/** Bytes in base 64. */
export function base64(data: Uint8Array): string {
  const parts: string[] = [];
  for (let start = 0; start < data.length; start += 0x8000) {
    parts.push(String.fromCharCode(...data.subarray(start, start + 0x8000)));
  }
  return btoa(parts.join(""));
}

function bytesOf(code: string): number {
  return Number(code.slice(2));
}

function headerOf(code: string, dims: readonly number[]): Uint8Array {
  const tuple = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(", ")})`;
  const text = `{'descr': '${code}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const padded = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const bytes = [0x93, ...[..."NUMPY"].map((letter) => letter.charCodeAt(0)), 1, 0, padded.length & 255, padded.length >> 8];
  return new Uint8Array([...bytes, ...[...padded].map((letter) => letter.charCodeAt(0))]);
}
