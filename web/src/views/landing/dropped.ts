/** The files of a drop or a choice, with their paths below the dropped folder. */

export interface DroppedFile {
  path: string;
  file: File;
}

/** More files than any model has: the wrong folder was dropped. */
export const MOST_FILES = 5000;

/** A drop that cannot be a model, said as a sentence. */
export class TooManyFiles extends Error {
  constructor() {
    super(`The folder has more than ${MOST_FILES} files; drop the folder of one model.`);
  }
}

/** Read all files of a drop, folders included. */
export async function droppedFiles(transfer: DataTransfer): Promise<DroppedFile[]> {
  // The entries must be taken before the first wait: the browser empties the transfer after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: DroppedFile[] = [];
  for (const entry of entries) await collect(entry, "", files);
  return files;
}

/** The files of an `<input type="file">`, which may be of a folder. */
export function chosenFiles(list: FileList): DroppedFile[] {
  if (list.length > MOST_FILES) throw new TooManyFiles();
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

async function collect(entry: FileSystemEntry, folder: string, files: DroppedFile[]): Promise<void> {
  const path = folder + entry.name;
  if (entry.isFile) {
    if (files.length >= MOST_FILES) throw new TooManyFiles();
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    files.push({ path, file });
  } else {
    for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) await collect(inner, `${path}/`, files);
  }
}

/** All entries of a folder: the browser returns them in parts. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return all;
    all.push(...part);
    if (all.length > MOST_FILES) throw new TooManyFiles();
  }
}
