/** The first page: open a model. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ModelEntry } from "../../api/types";
import { Combobox } from "../../components/combobox";
import { bytes, kindTitle, modelTitle } from "../../components/format";
import { Problem, useRequest } from "../../components/states";
import { Name } from "../../components/text";
import { notice, tell } from "../../shell/notice";
import { go, modelAddress } from "../../shell/router";
import { source } from "../../shell/source";
import { DropZone } from "./drop_zone";

export function Landing(): JSX.Element {
  return (
    <div class="landing">
      <div class="landing-head">
        <h1>Will this model run there?</h1>
        <p class="soft">
          Open a TensorFlow, Keras, TF.js or TensorFlow Lite model: see its graph, where it runs, why it fails
          elsewhere, and what a rewrite changes. Everything happens on this machine: no file, name or number leaves
          it.
        </p>
      </div>
      <DropZone />
      <PathField />
      <RecentModels />
      <Examples />
    </div>
  );
}

async function openPath(path: string): Promise<void> {
  notice.value = null;
  try {
    go(modelAddress((await source.open({ path })).id));
  } catch (error) {
    tell(error);
  }
}

function PathField(): JSX.Element {
  const suggest = async (prefix: string) =>
    (await source.paths(prefix)).map(({ path, folder, model }) => ({
      value: folder && !model && !path.endsWith("/") ? `${path}/` : path,
      note: model ?? (folder ? "folder" : ""),
      partial: folder && !model,
    }));
  return (
    <Combobox
      label="Or a path on this machine"
      placeholder="/models/export/1"
      suggest={suggest}
      onChoose={(path) => void openPath(path)}
      keeps
      isSearch
    />
  );
}

function RecentModels(): JSX.Element | null {
  const [removed, setRemoved] = useState<string[]>([]);
  const request = useRequest(() => source.models(), []);
  const models = request.state === "ready" ? request.value.filter(({ id }) => !removed.includes(id)) : [];
  const forget = async ({ id }: ModelEntry) => {
    try {
      await source.forget(id);
      setRemoved([...removed, id]);
    } catch (error) {
      tell(error);
    }
  };
  if (request.state === "failed") return <Problem sentence={request.sentence} onRetry={request.again} />;
  if (models.length === 0) return null;
  return (
    <section aria-labelledby="recent">
      <h2 id="recent">Models</h2>
      <ul class="model-list">
        {models.map((entry) => (
          <li key={entry.id}>
            <ModelLink entry={entry} />
            <button type="button" class="quiet" aria-label={`Forget ${entry.name}`} title="Forget" onClick={() => void forget(entry)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Examples(): JSX.Element | null {
  const request = useRequest(() => source.examples(), []);
  if (request.state !== "ready" || request.value.length === 0) return null;
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">Examples</h2>
      <ul class="model-list">
        {request.value.map((entry) => (
          <li key={entry.id}>
            <ModelLink entry={entry} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function ModelLink({ entry }: { entry: ModelEntry }): JSX.Element {
  return (
    <a href={modelAddress(entry.id)}>
      <strong>
        <Name text={modelTitle(entry)} longest={120} />
      </strong>
      <small>
        {entry.kind && `${kindTitle(entry.kind)} · `}
        {entry.bytes > 0 && `${bytes(entry.bytes)} · `}
        <Name text={entry.path} />
      </small>
    </a>
  );
}
