/** A button that copies a text. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { tell } from "../shell/notice";

const SHOWN_MS = 1500;

interface CopyButtonProps {
  text: string;
  /** What it copies, for screen readers and as a tooltip. */
  label: string;
  caption?: string;
}

export function CopyButton({ text, label, caption = "Copy" }: CopyButtonProps): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true), tell);
  return (
    <button type="button" class="quiet copy" onClick={copy} aria-label={label} title={label}>
      <span aria-live="polite">{copied ? "Copied" : caption}</span>
    </button>
  );
}
