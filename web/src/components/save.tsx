/** Files that the browser saves. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { tell } from "../shell/notice";

/** Let the browser save a file. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

interface SaveButtonProps {
  label: string;
  name: string;
  get: () => Promise<Blob>;
  primary?: boolean;
}

export function SaveButton({ label, name, get, primary = false }: SaveButtonProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      saveFile(await get(), name);
    } catch (error) {
      tell(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" class={primary ? "primary" : ""} disabled={busy} onClick={() => void save()}>
      {label}
    </button>
  );
}
