/** The layers of a Keras model. */

import type { JSX } from "preact";
import type { KerasInspection } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { shape, whole } from "../../components/format";
import { Fact, Facts, Name } from "../../components/text";

type Layer = KerasInspection["layers"][number] & { index: number };

const INDENT = 16;

const COLUMNS: Column<Layer>[] = [
  {
    title: "layer",
    by: (layer) => layer.name,
    cell: (layer) => (
      <span style={{ paddingLeft: `${Math.min(layer.depth, 8) * INDENT}px` }}>
        <Name text={layer.name} longest={100} />
      </span>
    ),
    wide: true,
  },
  {
    title: "class",
    by: (layer) => layer.class,
    cell: (layer) => (
      <>
        <Name text={layer.class} longest={60} /> {layer.custom && <span class="tag warn">custom</span>}
      </>
    ),
  },
  { title: "output", cell: (layer) => <code>{layer.shapes.map(shape).join(", ")}</code> },
  {
    title: "parameters",
    by: (layer) => layer.parameters,
    cell: (layer) => (layer.parameters === null ? "?" : whole(layer.parameters)),
    number: true,
  },
];

export function KerasLayers({ keras }: { keras: KerasInspection }): JSX.Element {
  const { layers, parameters, trainable_parameters: trainable, optimizer } = keras;
  const rows = layers.map((layer, index) => ({ ...layer, index }));
  return (
    <section class="card stack bounded" aria-labelledby="keras">
      <h2 id="keras">Keras {keras.class ?? "model"}</h2>
      <Facts>
        <Fact name="saved by">{keras.version && `Keras ${keras.version}${keras.backend ? ` on ${keras.backend}` : ""}`}</Fact>
        <Fact name="saved at">{keras.saved_at}</Fact>
        <Fact name="contains">{[keras.architecture && "architecture", keras.weights && "weights"].filter(Boolean).join(" and ")}</Fact>
        <Fact name="parameters">{parameters !== null && `${whole(parameters)}, ${whole(trainable ?? 0)} trainable`}</Fact>
        <Fact name="optimizer">{optimizer?.class}</Fact>
      </Facts>
      {rows.length > 0 && <DataTable label="Layers" columns={COLUMNS} rows={rows} keyOf={(layer) => `${layer.index}`} />}
    </section>
  );
}
