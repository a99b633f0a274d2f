/** The certificate of a rewrite: what was tried, what ran it, and digests to check it by. */

import type { ComponentChildren, JSX } from "preact";
import type { Certificate } from "../../api/reports";
import { count, shape } from "../../components/format";
import { Fact, Facts, printable, Sentence } from "../../components/text";

export function CertificateView({ certificate }: { certificate: Certificate }): JSX.Element {
  const { caveats, trials, runners, input, output, made } = certificate;
  const refused = trials.filter(({ original }) => original === "refused").length;
  return (
    <section class="card stack bounded certificate" aria-labelledby="certificate">
      <h2 id="certificate">Certificate</h2>
      {caveats.length > 0 && (
        <ul class="caveats">
          {caveats.map((caveat) => (
            <li key={caveat}>
              <Sentence text={caveat} />
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>
          {count(trials.length, "input")} tried; the original refused {refused}
        </summary>
        <Table label="Inputs tried" head={["signature", "input", "from", "seed", "the original", "shapes", "SHA-256"]}>
          {trials.map((trial, index) => (
            <tr key={index}>
              <td>{printable(trial.signature)}</td>
              <td>{printable(trial.name)}</td>
              <td>{trial.origin}</td>
              <td>{trial.seed}</td>
              <td>
                {trial.original} {trial.why && <small>{printable(trial.why)}</small>}
              </td>
              <td>{trial.inputs.map((array) => `${printable(array.name)} ${array.dtype} ${shape(array.shape)}`).join(", ")}</td>
              <td class="digest">{trial.inputs.map((array) => array.sha256).join(", ")}</td>
            </tr>
          ))}
        </Table>
      </details>
      <details open={runners.length > 0}>
        <summary>What ran both models</summary>
        <Table label="Runtimes" head={["runtime", "system", "runs", "crashes"]}>
          {runners.map((runner) => (
            <tr key={runner.name}>
              <td>{runner.name}</td>
              <td>{String(runner.system ?? "")}</td>
              <td class="number">{runner.runs}</td>
              <td class="number">{runner.crashes}</td>
            </tr>
          ))}
        </Table>
      </details>
      <Facts>
        <Fact name="input">
          <Digest path={input.path} digest={input.sha256} />
        </Fact>
        <Fact name="output">{output.path && <Digest path={output.path} digest={output.sha256} />}</Fact>
        {Object.entries(made)
          .filter(([, value]) => value && (typeof value !== "object" || Object.keys(value).length > 0))
          .map(([name, value]) => (
            <Fact key={name} name={name.replaceAll("_", " ")}>
              {madeText(value)}
            </Fact>
          ))}
      </Facts>
      <p class="soft">
        <code>tfport fix --verify CERTIFICATE.json</code> checks the digests and repeats the comparison. It covers these
        inputs and no others. {certificate.sha256}
      </p>
    </section>
  );
}

function Digest({ path, digest }: { path: string; digest: string }): JSX.Element {
  return (
    <>
      {printable(path)}
      <br />
      <code class="digest">{digest}</code>
    </>
  );
}

function madeText(value: unknown): string {
  if (Array.isArray(value)) return value.map(madeText).join("; ");
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).map(([name, version]) => `${name} ${String(version)}`).join(", ");
  }
  return printable(String(value));
}

interface TableProps {
  label: string;
  head: string[];
  children: ComponentChildren;
}

function Table({ label, head, children }: TableProps): JSX.Element {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="data">
        <thead>
          <tr>
            {head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
