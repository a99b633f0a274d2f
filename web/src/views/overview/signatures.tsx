/** The signatures of the model: what goes in, what comes out. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Inspection, SignatureSpec, TensorSpec } from "../../api/reports";
import { count, shape } from "../../components/format";
import { Empty } from "../../components/states";
import { Name } from "../../components/text";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { RunForm } from "./run_form";

/** What servers call if nobody names a signature: it comes first. */
const DEFAULT = "serving_default";
const MOST_OUTPUTS = 40;

interface SignaturesProps {
  inspection: Inspection;
  session: ModelSession;
}

export function Signatures({ inspection, session }: SignaturesProps): JSX.Element {
  const signatures = Object.entries(inspection.signatures).sort(([a], [b]) => Number(b === DEFAULT) - Number(a === DEFAULT));
  return (
    <section class="stack" aria-labelledby="signatures">
      <h2 id="signatures">{count(signatures.length, "signature")}</h2>
      {signatures.length === 0 && <Guessed inspection={inspection} />}
      {signatures.map(([name, signature], index) => (
        <SignatureCard key={name} name={name} signature={signature} session={session} open={index === 0 && signatures.length === 1} />
      ))}
    </section>
  );
}

/** The ends of a graph without signatures. */
function Guessed({ inspection: { inputs, outputs } }: { inspection: Inspection }): JSX.Element {
  if (outputs.length === 0) return <Empty>The model has no signatures: you can inspect it, but not run it by name.</Empty>;
  return (
    <article class="card stack">
      <p class="soft">The graph has no signatures. These are its input nodes, and the nodes that nothing reads.</p>
      <div class="ends">
        <Tensors title="Inputs" tensors={inputs} />
        <div class="tensors">
          <h4>Outputs</h4>
          <ul>
            {outputs.slice(0, MOST_OUTPUTS).map((name) => (
              <li key={name} class="mono">
                <Name text={name} longest={120} />
              </li>
            ))}
            {outputs.length > MOST_OUTPUTS && <li class="soft">and {outputs.length - MOST_OUTPUTS} more</li>}
          </ul>
        </div>
      </div>
    </article>
  );
}

interface SignatureCardProps {
  name: string;
  signature: SignatureSpec;
  session: ModelSession;
  open: boolean;
}

function SignatureCard({ name, signature, session, open }: SignatureCardProps): JSX.Element {
  const [runs, setRuns] = useState(open && !source.isStatic);
  return (
    <article class="card stack signature">
      <header class="flow spread">
        <h3 class="mono">
          <Name text={name} longest={160} />
        </h3>
        {!source.isStatic && (
          <button type="button" aria-expanded={runs} onClick={() => setRuns(!runs)}>
            {runs ? "Close the form" : "Run …"}
          </button>
        )}
      </header>
      <div class="ends">
        <Tensors title="Inputs" tensors={signature.inputs} defaults={signature.defaults} />
        <Tensors title="Outputs" tensors={signature.outputs} />
      </div>
      {runs && <RunForm name={name} signature={signature} session={session} />}
    </article>
  );
}

interface TensorsProps {
  title: string;
  tensors: Record<string, TensorSpec>;
  defaults?: string[];
}

function Tensors({ title, tensors, defaults = [] }: TensorsProps): JSX.Element {
  const entries = Object.entries(tensors);
  return (
    <div class="tensors">
      <h4>{title}</h4>
      {entries.length === 0 && <p class="soft">none</p>}
      <ul>
        {entries.map(([name, spec]) => (
          <li key={name}>
            <span class="mono">
              <Name text={name} longest={120} />
            </span>
            <span class="tensor-type">
              {typeOf(spec)}
              {defaults.includes(name) && <span class="tag">has a default</span>}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** `float32 [?, 28, 28]`, with its form if that is not dense. */
export function typeOf(spec: TensorSpec): string {
  const form = spec.form === "dense" ? "" : ` ${spec.form}`;
  return `${spec.dtype} ${shape(spec.shape)}${form}`;
}
