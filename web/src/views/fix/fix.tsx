/** Rewrite the model for a target, and see what changed. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Combobox } from "../../components/combobox";
import { JobPanel } from "../../components/job_panel";
import type { ViewProps } from "../../shell/model_page";
import { tell } from "../../shell/notice";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { suggestTargets } from "../verdicts/targets_field";
import { FixOutcome } from "./fix_outcome";

export function Fix({ session, query }: ViewProps): JSX.Element {
  const job = useSignal(session.fix.state);
  return (
    <div class="stack">
      {!source.isStatic && <FixForm session={session} initial={query.get("target") ?? ""} running={job.state === "running"} />}
      <JobPanel job={job}>{(answer) => <FixOutcome answer={answer} session={session} job={job.id} />}</JobPanel>
    </div>
  );
}

interface FixFormProps {
  session: ModelSession;
  initial: string;
  running: boolean;
}

function FixForm({ session, initial, running }: FixFormProps): JSX.Element {
  const [target, setTarget] = useState(initial);
  const [lossy, setLossy] = useState(false);
  const start = () => void session.fix.start({ kind: "fix", request: { target, allow_lossy: lossy } });
  return (
    <section class="card stack" aria-labelledby="fix">
      <h2 id="fix">Rewrite it for a target</h2>
      <p class="soft">
        tfport replaces what the target lacks with equivalents, runs both models on many inputs, and writes a
        certificate. The original stays unchanged.
      </p>
      <div class="flow check-form">
        <Combobox label="Target" placeholder="tensorflow==1.15.5" suggest={(prefix) => suggestTargets(prefix, session.id)} onChoose={setTarget} onText={setTarget} initial={initial} keeps isSearch />
        <label class="flow tick">
          <input type="checkbox" checked={lossy} onChange={(event) => setLossy(event.currentTarget.checked)} />
          allow lossy rewrites
        </label>
      </div>
      <div class="flow">
        <button type="button" class="primary" disabled={running || !target.trim()} onClick={start}>
          Rewrite
        </button>
        {running && (
          <button type="button" onClick={() => void session.fix.cancel().catch(tell)}>
            Cancel
          </button>
        )}
      </div>
    </section>
  );
}
