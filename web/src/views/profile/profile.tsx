/** Where the time of a run goes. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Inspection, Profile } from "../../api/reports";
import { milliseconds, whole } from "../../components/format";
import { JobPanel } from "../../components/job_panel";
import { Request } from "../../components/states";
import type { ViewProps } from "../../shell/model_page";
import { tell } from "../../shell/notice";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { source } from "../../shell/source";
import { Parts } from "./parts";
import { ProfileTables } from "./profile_tables";

export function ProfileTab({ session }: ViewProps): JSX.Element {
  const job = useSignal(session.profile.state);
  return (
    <div class="stack">
      {!source.isStatic && (
        <Request ask={session.inspection} keys={[session]} what="Reading the model">
          {(inspection) => <ProfileForm inspection={inspection} session={session} running={job.state === "running"} />}
        </Request>
      )}
      <JobPanel job={job}>{(profile) => <ProfileResult profile={profile} session={session} />}</JobPanel>
    </div>
  );
}

interface ProfileFormProps {
  inspection: Inspection;
  session: ModelSession;
  running: boolean;
}

function ProfileForm({ inspection, session, running }: ProfileFormProps): JSX.Element {
  const names = useMemo(() => Object.keys(inspection.signatures), [inspection]);
  const [signature, setSignature] = useState(names.includes("serving_default") ? "serving_default" : (names[0] ?? ""));
  const [batch, setBatch] = useState(1);
  const start = () =>
    void session.profile.start({ kind: "profile", request: { ...(signature ? { signature } : {}), batch } });
  return (
    <section class="card stack" aria-labelledby="profile">
      <h2 id="profile">Time a run, node by node</h2>
      <p class="soft">The model runs on this machine in tfport's runtime, on generated inputs.</p>
      <div class="flow">
        {names.length > 1 && (
          <label class="flow">
            <span class="soft">signature</span>
            <select value={signature} onChange={(event) => setSignature(event.currentTarget.value)}>
              {names.map((name) => (
                <option key={name} value={name}>
                  {name.slice(0, 80)}
                </option>
              ))}
            </select>
          </label>
        )}
        <label class="flow">
          <span class="soft">batch</span>
          <input type="number" min={1} max={4096} value={batch} onInput={(event) => setBatch(Math.max(1, Number(event.currentTarget.value) || 1))} />
        </label>
        <button type="button" class="primary" disabled={running} onClick={start}>
          Profile
        </button>
        {running && (
          <button type="button" onClick={() => void session.profile.cancel().catch(tell)}>
            Cancel
          </button>
        )}
      </div>
    </section>
  );
}

function ProfileResult({ profile, session }: { profile: Profile; session: ModelSession }): JSX.Element {
  return (
    <>
      <section class="card stack" aria-labelledby="time">
        <h2 id="time">
          {milliseconds(profile.latency_ms)} for a batch of {whole(profile.batch)}
        </h2>
        <p class="soft">
          {profile.runs} runs of {profile.signature}; {milliseconds(profile.processor_ms)} of CPU time on{" "}
          {profile.threads} threads
        </p>
        <Parts parts={profile.parts_ms} total={profile.latency_ms} />
      </section>
      <ProfileTables profile={profile} session={session} />
    </>
  );
}
