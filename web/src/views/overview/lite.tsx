/** What a TensorFlow Lite file says beside its graph. */

import type { JSX } from "preact";
import type { LiteInspection } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { bytes, count } from "../../components/format";
import { Fact, Facts, Name } from "../../components/text";

type Operator = LiteInspection["operators"][number];

const COLUMNS: Column<Operator>[] = [
  {
    title: "operator",
    by: ({ op, custom, flex }) => custom ?? flex ?? op,
    cell: ({ op, custom, flex }) => (
      <>
        <Name text={custom ?? flex ?? op} longest={80} /> {custom && <span class="tag warn">custom</span>}
        {flex && <span class="tag">TensorFlow op</span>}
      </>
    ),
    wide: true,
  },
  { title: "version", by: ({ version }) => version, cell: ({ version }) => version, number: true },
  { title: "nodes", by: (operator) => operator.count, cell: (operator) => operator.count, number: true },
];

export function LitePart({ lite }: { lite: LiteInspection }): JSX.Element {
  const described = Object.entries(lite.model).filter(([, text]) => text);
  const types = Object.entries(lite.weights).map(([dtype, size]) => `${dtype} ${bytes(size)}`);
  return (
    <section class="card stack" aria-labelledby="lite">
      <h2 id="lite">TensorFlow Lite</h2>
      <Facts>
        {described.map(([key, text]) => (
          <Fact key={key} name={key}>
            {text}
          </Fact>
        ))}
        <Fact name="description">{lite.description}</Fact>
        <Fact name="needs">{lite.min_runtime_version && `runtime ${lite.min_runtime_version} or newer`}</Fact>
        <Fact name="quantization">{lite.quantization}</Fact>
        <Fact name="weights">{types.join(", ")}</Fact>
        <Fact name="activations">{lite.activations > 0 && bytes(lite.activations)}</Fact>
        <Fact name="subgraphs">{lite.subgraphs.length > 1 && count(lite.subgraphs.length, "subgraph")}</Fact>
        <Fact name="metadata">{lite.metadata.join(", ")}</Fact>
      </Facts>
      <DataTable label="Operators" columns={COLUMNS} rows={lite.operators} sorted="nodes" keyOf={({ op, version, custom, flex }) => `${op} ${version} ${custom} ${flex}`} />
    </section>
  );
}
