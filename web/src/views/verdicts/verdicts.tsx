/** Verdicts: the matrix of all releases, and checks of chosen targets side by side. */

import type { JSX } from "preact";
import { Request } from "../../components/states";
import type { ViewProps } from "../../shell/model_page";
import { changeQuery, setParameter } from "../../shell/router";
import { embedded, source } from "../../shell/source";
import { CheckResults } from "./check_results";
import { MatrixView } from "./matrix_view";
import { TargetsField } from "./targets_field";

export function Verdicts({ session, query }: ViewProps): JSX.Element {
  const targets = query.getAll("target");
  const device = query.get("device") === "gpu" ? "gpu" : "cpu";
  const choose = (nextTargets: string[], nextDevice: string) =>
    changeQuery((next) => {
      next.delete("target");
      for (const target of nextTargets) next.append("target", target);
      setParameter(next, "device", nextDevice === "gpu" ? "gpu" : null);
    }, true);
  const hasMatrix = !embedded || embedded.documents.matrix;
  const hasCheck = !embedded || embedded.documents.check;
  return (
    <div class="stack">
      {hasCheck && (
        <section class="card stack" aria-labelledby="check">
          <h2 id="check">{source.isStatic ? "Checked" : "Check targets"}</h2>
          {!source.isStatic && (
            <div class="flow check-form">
              <TargetsField model={session.id} targets={targets} onChange={(next) => choose(next, device)} />
              <Device device={device} onChange={(next) => choose(targets, next)} />
            </div>
          )}
          {targets.length === 0 && !source.isStatic ? (
            <p class="soft">
              Name a release as for pip, such as <code>tensorflow==1.15.5</code>, or in short: <code>tf 1.15</code>,{" "}
              <code>serving 2.8</code>, <code>keras 3.4</code>; two are shown side by side.
            </p>
          ) : (
            <Request
              ask={async () => {
                const report = await source.check(session.id, { targets, device });
                session.checked.value = report;
                return report;
              }}
              keys={[targets.join("\n"), device]}
              what={`Checking ${targets.join(", ")}`}
            >
              {(report) => <CheckResults report={report} session={session} />}
            </Request>
          )}
        </section>
      )}
      {hasMatrix && (
        <Request ask={session.matrix} keys={[session]} what="Checking all releases">
          {(matrix) => (
            <MatrixView matrix={matrix} session={session} query={query} onCheck={(target) => choose([...targets.filter((other) => other !== target), target].slice(-3), device)} />
          )}
        </Request>
      )}
    </div>
  );
}

function Device({ device, onChange }: { device: string; onChange: (device: string) => void }): JSX.Element {
  return (
    <div class="labeled">
      <span class="soft" aria-hidden="true">
        Device
      </span>
      <div class="choice" role="group" aria-label="Device">
        {["cpu", "gpu"].map((name) => (
          <button key={name} type="button" aria-pressed={device === name} onClick={() => onChange(name)}>
            {name.toUpperCase()}
          </button>
        ))}
      </div>
    </div>
  );
}
