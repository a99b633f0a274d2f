/** The profile by nodes, ops and islands, and why nodes are not in an island. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { OpTime, Profile, ProfiledNode } from "../../api/reports";
import { DataTable, type Column } from "../../components/data_table";
import { Filter, passes } from "../../components/filter";
import { milliseconds, whole } from "../../components/format";
import { Empty } from "../../components/states";
import { Name, Sentence } from "../../components/text";
import { go, modelAddress } from "../../shell/router";
import type { ModelSession } from "../../shell/session";
import { source } from "../../shell/source";
import { opTimes, overlayOfProfile } from "./profile_rows";

type Kind = "nodes" | "ops" | "islands";
type Island = Profile["islands"][number] & { index: number };

interface ProfileTablesProps {
  profile: Profile;
  session: ModelSession;
}

export function ProfileTables({ profile, session }: ProfileTablesProps): JSX.Element {
  const [kind, setKind] = useState<Kind>("nodes");
  const [filter, setFilter] = useState("");
  const hasGraph = source.tabs().includes("graph");
  const show = (node?: ProfiledNode) => {
    session.overlay.value = overlayOfProfile(profile);
    go(modelAddress(session.id, "graph", node ? { graph: node.graph, node: node.node } : {}));
  };
  return (
    <section class="card stack" aria-label="Times">
      <div class="flow spread">
        <div class="choice" role="group" aria-label="Group times by">
          {(["nodes", "ops", "islands"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={kind === name} onClick={() => setKind(name)}>
              {name}
            </button>
          ))}
        </div>
        <div class="flow">
          {hasGraph && (
            <button type="button" onClick={() => show()}>
              Color the graph
            </button>
          )}
          <Filter label="Filter" value={filter} onChange={setFilter} />
        </div>
      </div>
      {kind === "nodes" && <Nodes profile={profile} filter={filter} onShow={hasGraph ? show : null} />}
      {kind === "ops" && <Ops profile={profile} filter={filter} />}
      {kind === "islands" && <Islands profile={profile} filter={filter} />}
    </section>
  );
}

interface NodesProps {
  profile: Profile;
  filter: string;
  onShow: ((node: ProfiledNode) => void) | null;
}

function Nodes({ profile, filter, onShow }: NodesProps): JSX.Element {
  const rows = useMemo(() => profile.nodes.filter((node) => passes(`${node.node} ${node.op} ${node.reason ?? ""}`, filter)), [profile, filter]);
  const most = Math.max(1e-9, ...rows.map(({ ms }) => ms));
  const columns: Column<ProfiledNode>[] = [
    {
      title: "node",
      by: ({ node }) => node,
      cell: (row) =>
        onShow ? (
          <button type="button" class="link mono" onClick={() => onShow(row)}>
            <Name text={row.node} />
          </button>
        ) : (
          <Name text={row.node} />
        ),
      wide: true,
    },
    { title: "op", by: ({ op }) => op, cell: ({ op }) => <code>{op}</code> },
    { title: "where", by: ({ where }) => String(where), cell: (row) => <Where node={row} /> },
    { title: "time", by: ({ ms }) => ms, cell: ({ ms }) => <Time ms={ms} most={most} />, number: true },
  ];
  if (rows.length === 0) return <Empty>No node was timed on its own.</Empty>;
  return <DataTable label="Node times" columns={columns} rows={rows} sorted="time" keyOf={({ graph, node }) => `${graph} ${node}`} />;
}

function Where({ node: { where, reason } }: { node: ProfiledNode }): JSX.Element {
  const place = typeof where === "number" ? `island ${where}` : where;
  return (
    <span class="wrap">
      {place}
      {reason && (
        <small>
          {" "}
          <Sentence text={reason} />
        </small>
      )}
    </span>
  );
}

function Time({ ms, most }: { ms: number; most: number }): JSX.Element {
  return (
    <span class="size">
      <span class="size-bar heat" aria-hidden="true" style={{ width: `${(64 * ms) / most}px` }} />
      {milliseconds(ms)}
    </span>
  );
}

function Ops({ profile, filter }: { profile: Profile; filter: string }): JSX.Element {
  const rows = useMemo(() => opTimes(profile).filter(({ op }) => passes(op, filter)), [profile, filter]);
  const most = Math.max(1e-9, ...rows.map(({ ms }) => ms));
  const columns: Column<OpTime>[] = [
    { title: "op", by: ({ op }) => op, cell: ({ op }) => <code>{op}</code>, wide: true },
    { title: "calls", by: ({ calls }) => calls, cell: ({ calls }) => whole(calls), number: true },
    { title: "time", by: ({ ms }) => ms, cell: ({ ms }) => <Time ms={ms} most={most} />, number: true },
  ];
  if (rows.length === 0) return <Empty>No ops match the filter.</Empty>;
  return <DataTable label="Op times" columns={columns} rows={rows} sorted="time" keyOf={({ op }) => op} />;
}

function Islands({ profile, filter }: { profile: Profile; filter: string }): JSX.Element {
  const rows = useMemo(
    () =>
      profile.islands
        .map((island, index) => ({ ...island, index }))
        .filter((island) => passes(`${island.inside ?? ""} ${Object.keys(island.ops).join(" ")}`, filter)),
    [profile, filter],
  );
  const columns: Column<Island>[] = [
    { title: "island", by: ({ index }) => index, cell: ({ index }) => index, number: true },
    { title: "ops", cell: ({ ops }) => <span class="wrap">{opsText(ops)}</span>, wide: true },
    { title: "inside", by: ({ inside }) => inside, cell: ({ inside }) => inside && <Name text={inside} longest={60} /> },
    { title: "ONNX nodes", by: (island) => island.onnx_nodes, cell: (island) => whole(island.onnx_nodes), number: true },
    { title: "calls", by: ({ calls }) => calls, cell: ({ calls }) => whole(calls), number: true },
    { title: "copies", by: (island) => island.copies_ms, cell: (island) => milliseconds(island.copies_ms), number: true },
    { title: "time", by: ({ ms }) => ms, cell: ({ ms }) => milliseconds(ms), number: true },
  ];
  if (rows.length === 0) return <Empty>No part of the model runs in the engine.</Empty>;
  return <DataTable label="Islands" columns={columns} rows={rows} sorted="time" keyOf={({ index }) => `${index}`} />;
}

function opsText(ops: Record<string, number>): string {
  const sorted = Object.entries(ops).sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, 6).map(([op, times]) => (times > 1 ? `${times} ${op}` : op));
  return [...shown, ...(sorted.length > 6 ? [`${sorted.length - 6} others`] : [])].join(", ");
}
