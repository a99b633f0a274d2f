/** A form that runs a signature with tfport's runtime. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunResult, SignatureSpec } from "../../api/reports";
import { JobPanel } from "../../components/job_panel";
import { seconds } from "../../components/format";
import { JobRunner } from "../../shell/jobs";
import { notice, tell } from "../../shell/notice";
import type { ModelSession } from "../../shell/session";
import { useSignal } from "../../shell/signal";
import { InputField } from "./input_field";
import { filled, NO_VALUE, pastedRequest, valueToSend, type Filling, type InputValue } from "./input_values";
import { Outputs } from "./outputs";

const TIMED_RUNS = 11;

interface RunFormProps {
  name: string;
  signature: SignatureSpec;
  session: ModelSession;
}

type Values = Record<string, InputValue>;

export function RunForm({ name, signature, session }: RunFormProps): JSX.Element {
  const runner = useMemo(() => new JobRunner<RunResult>(session.id), [session]);
  const job = useSignal(runner.state);
  const [values, setValues] = useState<Values>({});
  const names = Object.keys(signature.inputs);

  const change = (input: string, value: InputValue) => {
    const request = value.kind === "text" ? pastedRequest(value.text, names) : null;
    setValues({ ...values, ...(request ?? { [input]: value }) });
  };
  const fillAll = (filling: Filling) =>
    setValues(Object.fromEntries(Object.entries(signature.inputs).map(([input, spec]) => [input, filled(spec, filling)])));
  const run = (repeat: number) => {
    notice.value = null;
    try {
      const inputs = inputsToSend(signature, values);
      void runner.start({ kind: "run", request: { signature: name, inputs, repeat } });
    } catch (error) {
      tell(error);
    }
  };
  const running = job.state === "running";
  return (
    <form
      class="stack run-form"
      onSubmit={(event) => {
        event.preventDefault();
        run(1);
      }}
    >
      {names.length > 0 && (
        <p class="flow">
          <span class="soft">Fill all inputs with</span>
          <button type="button" onClick={() => fillAll("zeros")}>
            zeros
          </button>
          <button type="button" onClick={() => fillAll("random")}>
            random values
          </button>
        </p>
      )}
      {Object.entries(signature.inputs).map(([input, spec]) => (
        <InputField
          key={input}
          name={input}
          spec={spec}
          optional={signature.defaults.includes(input)}
          value={values[input] ?? NO_VALUE}
          onChange={(value) => change(input, value)}
        />
      ))}
      <div class="flow">
        <button type="submit" class="primary" disabled={running}>
          Run
        </button>
        <button type="button" disabled={running} onClick={() => run(TIMED_RUNS)}>
          Run {TIMED_RUNS} times and time it
        </button>
        {running && (
          <button type="button" onClick={() => void runner.cancel().catch(tell)}>
            Cancel
          </button>
        )}
      </div>
      <JobPanel job={job}>
        {(result) => (
          <div class="stack">
            <p class="soft">{timeOf(result)}</p>
            <Outputs outputs={result.outputs} />
          </div>
        )}
      </JobPanel>
    </form>
  );
}

/** The inputs of the form; those with a default may stay empty. */
function inputsToSend(signature: SignatureSpec, values: Values): Record<string, unknown> {
  const inputs: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(signature.inputs)) {
    const value = values[name] ?? NO_VALUE;
    const isEmpty = value.kind === "text" && value.text.trim() === "";
    if (isEmpty && signature.defaults.includes(name)) continue;
    if (isEmpty && spec.dtype !== "string") throw new Error(`Input \`${name}\` has no value yet.`);
    inputs[name] = valueToSend(name, spec, value);
  }
  return inputs;
}

function timeOf({ seconds: first, all_seconds: all = [] }: RunResult): string {
  const later = all.slice(1).sort((a, b) => a - b);
  const median = later[Math.floor(later.length / 2)];
  const rest = median === undefined ? "" : `, median of the next ${later.length}: ${seconds(median)}`;
  return `First call ${seconds(all[0] ?? first)}${rest}`;
}
