/** What is connected to a node, and its attributes. */

import type { JSX } from "preact";
import type { NodeDetails } from "../../api/types";
import { Name, printable } from "../../components/text";

const LONG = 200;
const MOST_READERS = 12;

interface EndsProps {
  details: NodeDetails;
  onGo: (node: string) => void;
}

export function Inputs({ details: { inputs, controls }, onGo }: EndsProps): JSX.Element | null {
  if (inputs.length + controls.length === 0) return null;
  return (
    <section>
      <h3>Inputs</h3>
      <ul class="plain ends-list">
        {inputs.map(({ argument, node, index, type }, position) => (
          <li key={position}>
            <small>{argument}</small>
            <span class="edge-type">{type}</span>
            <span class="break" />
            <NodeLink node={node} onGo={onGo} />
            {index > 0 && <small>output {index}</small>}
          </li>
        ))}
        {controls.map((node) => (
          <li key={`^${node}`}>
            <small>runs after</small>
            <NodeLink node={node} onGo={onGo} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Outputs({ details: { outputs, control_readers: controlReaders }, onGo }: EndsProps): JSX.Element | null {
  if (outputs.length + controlReaders.length === 0) return null;
  return (
    <section>
      <h3>Outputs</h3>
      <ul class="plain ends-list">
        {outputs.map(({ argument, index, type, readers, more }) => (
          <li key={index}>
            <small>{argument || `output ${index}`}</small>
            <span class="edge-type">{type}</span>
            <span class="break" />
            {readers.length === 0 && <small>nothing reads it</small>}
            {readers.slice(0, MOST_READERS).map((reader) => (
              <NodeLink key={reader} node={reader} onGo={onGo} />
            ))}
            {more + Math.max(0, readers.length - MOST_READERS) > 0 && <small>and {more + Math.max(0, readers.length - MOST_READERS)} more</small>}
          </li>
        ))}
        {controlReaders.slice(0, MOST_READERS).map((node) => (
          <li key={`^${node}`}>
            <small>runs before</small>
            <NodeLink node={node} onGo={onGo} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function NodeLink({ node, onGo }: { node: string; onGo: (node: string) => void }): JSX.Element {
  return (
    <button type="button" class="link mono" onClick={() => onGo(node)}>
      <Name text={node} longest={120} />
    </button>
  );
}

export function Attributes({ details: { attributes } }: { details: NodeDetails }): JSX.Element | null {
  if (attributes.length === 0) return null;
  return (
    <section>
      <h3>Attributes</h3>
      <dl class="facts attributes">
        {attributes.map(({ name, value, default: isDefault }) => (
          <div key={name}>
            <dt>
              <Name text={name} longest={60} />
            </dt>
            <dd class={isDefault ? "soft" : ""}>
              {value.length > LONG ? (
                <pre tabIndex={0} aria-label={`Value of ${name.slice(0, 60)}`}>
                  {printable(value)}
                </pre>
              ) : (
                <code>{printable(value)}</code>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
