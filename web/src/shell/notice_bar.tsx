/** The bar below the header that tells why an action failed. */

import type { JSX } from "preact";
import { Sentence } from "../components/text";
import { notice } from "./notice";
import { useSignal } from "./signal";

export function NoticeBar(): JSX.Element {
  const sentence = useSignal(notice);
  return (
    <div class="notice-place" role="alert">
      {sentence && (
        <div class="notice">
          <span class="glyph bad" aria-hidden="true">✕</span>
          <p>
            <Sentence text={sentence} />
          </p>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => (notice.value = null)}>
            ✕
          </button>
        </div>
      )}
    </div>
  );
}
