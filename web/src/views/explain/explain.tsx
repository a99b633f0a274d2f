/** Paste a log or an error message, get what it means. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Cause, CodePages, Explained, Explanation } from "../../api/reports";
import { count } from "../../components/format";
import { Empty, Problem, Loading, useRequest } from "../../components/states";
import { printable, Sentence } from "../../components/text";
import { source } from "../../shell/source";

const EXAMPLE = "NOT_FOUND: Op type not registered 'BatchMatMulV3' in binary running on server-1. Make sure the Op and Kernel are registered in the binary running in this process.";
const MARKS: Record<string, [string, string]> = { error: ["✕", "bad"], warning: ["!", "warn"], harmless: ["✓", "good"] };

export function Explain(): JSX.Element {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  return (
    <div class="stack explain">
      <header>
        <h1>Explain a log</h1>
        <p class="soft">Paste an error message, a whole log, or a code such as TFP101. It stays on this machine.</p>
      </header>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text);
        }}
      >
        <label class="visually-hidden" for="log">
          Log or error message
        </label>
        <textarea
          id="log"
          data-search=""
          class="mono"
          rows={10}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && setAsked(text)}
        />
        <p class="flow">
          <button type="submit" class="primary" disabled={!text.trim()}>
            Explain
          </button>
          <button type="button" class="quiet" onClick={() => (setText(EXAMPLE), setAsked(EXAMPLE))}>
            Try an example
          </button>
          <small>Ctrl+Enter explains too</small>
        </p>
      </form>
      {asked.trim() && <Answer key={asked} text={asked} />}
    </div>
  );
}

function Answer({ text }: { text: string }): JSX.Element {
  const request = useRequest(() => source.explain(text), [text]);
  if (request.state === "loading") return <Loading what="Looking it up" />;
  if (request.state === "failed") return <Problem sentence={request.sentence} />;
  return "codes" in request.value ? <Codes pages={request.value} /> : <Explanations explained={request.value} />;
}

function Explanations({ explained }: { explained: Explained }): JSX.Element {
  const { explanations, more, cut, nearest, out_of_scope: outOfScope, clues } = explained;
  return (
    <section class="stack" aria-label="Explanations" aria-live="polite">
      {explanations.length === 0 && <Empty>{outOfScope ? printable(outOfScope) : "Found no known message in this text."}</Empty>}
      {explanations.length === 0 && nearest && (
        <p>
          Nearest known message: <code>{printable(nearest)}</code>
        </p>
      )}
      {clues.map((clue) => (
        <p key={clue}>
          <Sentence text={clue} />
        </p>
      ))}
      {explanations.map((explanation, index) => (
        <ExplanationCard key={index} explanation={explanation} />
      ))}
      {more > 0 && <p class="soft">{count(more, "more message")} in the text.</p>}
      {cut && <p class="soft">The text is too long; the end was not read.</p>}
    </section>
  );
}

function ExplanationCard({ explanation }: { explanation: Explanation }): JSX.Element {
  const { kind, code, name, quote, count: times, means, causes, ways_out: waysOut, on_target: onTarget } = explanation;
  const [glyph, tone] = MARKS[kind] ?? ["i", "soft"];
  return (
    <article class="card stack tight">
      <header class="flow spread">
        <h2>
          <span class={`glyph ${tone}`} aria-hidden="true">
            {glyph}
          </span>{" "}
          {name.replaceAll("-", " ")}
        </h2>
        <small>
          {kind}
          {code && `, ${code}`}
          {times > 1 && `, ${count(times, "time")}`}
        </small>
      </header>
      <pre tabIndex={0} aria-label="Quote">
        {printable(quote)}
      </pre>
      {[...means, ...onTarget].map((sentence) => (
        <p key={sentence}>
          <Sentence text={sentence} />
        </p>
      ))}
      {causes.length > 0 && <Causes causes={causes} />}
      {waysOut.length > 0 && (
        <>
          <h3>What to do</h3>
          <Sentences texts={waysOut} />
        </>
      )}
    </article>
  );
}

/** The cause with its evidence, or the possible ones with what tells them apart. */
function Causes({ causes }: { causes: Cause[] }): JSX.Element {
  const named = causes.find((cause) => cause.named);
  if (named)
    return (
      <>
        <h3>Cause</h3>
        <p>
          <Sentence text={named.means} />
        </p>
        <Sentences texts={named.evidence} />
      </>
    );
  return (
    <>
      <h3>{causes.length > 1 ? "One of these causes" : "Possible cause"}</h3>
      <ol>
        {causes.map(({ means, evidence, check, ways_out: waysOut }) => (
          <li key={means}>
            <p>
              <Sentence text={means} />
            </p>
            <Sentences
              texts={[
                ...evidence.map((text) => `For it: ${text}`),
                ...(check ? [`Check: ${check}`] : []),
                ...waysOut.map((text) => `Fix: ${text}`),
              ]}
            />
          </li>
        ))}
      </ol>
    </>
  );
}

function Sentences({ texts }: { texts: string[] }): JSX.Element {
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>
          <Sentence text={text} />
        </li>
      ))}
    </ul>
  );
}

function Codes({ pages }: { pages: CodePages }): JSX.Element {
  return (
    <section class="stack" aria-label="Codes">
      {pages.codes.map(({ code, name, title, sections }) => (
        <article key={code} class="card stack tight">
          <h2>
            {code} {name}
          </h2>
          <p>
            <Sentence text={title} />
          </p>
          {Object.entries(sections).map(([section, text]) => (
            <section key={section}>
              <h3>{section}</h3>
              <p class="prose">
                <Sentence text={text} />
              </p>
            </section>
          ))}
        </article>
      ))}
    </section>
  );
}
