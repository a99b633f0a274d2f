/** The list of keys. */

import type { JSX } from "preact";
import { Dialog } from "../components/dialog";
import { GRAPH_KEYS, KEYS } from "./keys";

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <KeyTable title="Everywhere" keys={KEYS} />
      <KeyTable title="In the graph" keys={GRAPH_KEYS} />
    </Dialog>
  );
}

function KeyTable({ title, keys }: { title: string; keys: [string, string][] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
