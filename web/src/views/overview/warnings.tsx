/** What needs attention before anything else: custom ops, unsafe content, problems. */

import type { ComponentChildren, JSX } from "preact";
import type { Inspection } from "../../api/reports";
import { count } from "../../components/format";
import { Name, Sentence } from "../../components/text";
import { modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";

const MOST_NAMES = 12;

export function Warnings({ inspection, session }: { inspection: Inspection; session: ModelSession }): JSX.Element | null {
  const { problems, ops, keras, lite } = inspection;
  const custom = Object.keys(ops.custom);
  const unsafe = source.isStatic ? (keras?.unsafe ?? []) : []; // a server scans the model
  const noGraph = keras?.no_graph ?? lite?.no_graph;
  const classes = keras?.custom_classes ?? [];
  if (!problems.length && !custom.length && !unsafe.length && !noGraph && !classes.length) return null;
  return (
    <section class="warnings" aria-label="Attention">
      {unsafe.map(({ kind, where, detail }) => (
        <Warning key={kind + where} tone="bad">
          <strong>Unsafe content: {kind}</strong> in <Name text={where} longest={80} />: <Sentence text={detail} /> tfport
          does not run it.
        </Warning>
      ))}
      {custom.length > 0 && (
        <Warning tone="warn">
          <strong>{count(custom.length, "custom op")}</strong>: <Names names={custom} />. No recorded release registers{" "}
          {custom.length === 1 ? "it" : "them"}. <a href={modelAddress(session.id, "ops")}>See the ops</a>
        </Warning>
      )}
      {classes.length > 0 && (
        <Warning tone="warn">
          <strong>{count(classes.length, "custom class")}</strong>: <Names names={classes} />
        </Warning>
      )}
      {noGraph && (
        <Warning tone="warn">
          <Sentence text={noGraph} />
        </Warning>
      )}
      {problems.map((problem) => (
        <Warning key={problem} tone="warn">
          <Sentence text={problem} />
        </Warning>
      ))}
    </section>
  );
}

function Warning({ tone, children }: { tone: "bad" | "warn"; children: ComponentChildren }): JSX.Element {
  return (
    <p class={`warning ${tone}`}>
      <span class={`glyph ${tone}`} aria-hidden="true">
        {tone === "bad" ? "✕" : "!"}
      </span>
      <span>{children}</span>
    </p>
  );
}

function Names({ names }: { names: string[] }): JSX.Element {
  const more = names.length - MOST_NAMES;
  return (
    <>
      {names.slice(0, MOST_NAMES).map((name, index) => (
        <>
          {index > 0 && ", "}
          <code key={name}>
            <Name text={name} longest={80} />
          </code>
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}
