/**
 * The search for nodes: words in names, `op:BatchMatMulV2`, `dtype:bfloat16`, `name:…`, `finding:TFP101`,
 * `attr:…`; `-` before a term excludes. All terms must match; letters match in upper and lower case.
 */
import type { GraphData, NodeAddress } from "../api/types";

export type Field = "text" | "op" | "dtype" | "name" | "finding" | "attr";

export interface Term {
  field: Field;
  value: string;
  exclude: boolean;
}

const FIELDS = new Set<string>(["op", "dtype", "name", "finding", "attr"]);

/** The terms of a query. A value with spaces is in double quotes. */
export function parseQuery(query: string): Term[] {
  const terms: Term[] = [];
  for (const match of query.matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi)) {
    const [, minus, prefix, quoted, plain] = match;
    const field = prefix?.toLowerCase();
    const known = field !== undefined && FIELDS.has(field);
    const value = (known || !prefix ? "" : `${prefix}:`) + (quoted ?? plain ?? "");
    if (value) terms.push({ field: known ? (field as Field) : "text", value, exclude: minus === "-" });
  }
  return terms;
}

/** Whether the server must be asked: attributes are only in pages that have none. */
export function needsServer(graph: GraphData, terms: readonly Term[]): boolean {
  return !graph.attributes && terms.some((term) => term.field === "attr");
}

/** The nodes of findings: code, graph id, node names. */
export type Findings = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** The nodes of a graph that match all terms, in order; without attributes, those of `attr:` count as matched. */
export function matchNodes(graph: GraphData, terms: readonly Term[], findings?: Findings): number[] {
  const tests = terms.filter((term) => graph.attributes || term.field !== "attr").map((term) => testOf(graph, term, findings));
  if (!terms.length) return [];
  const matches: number[] = [];
  for (let node = 0; node < graph.names.length; node++) if (tests.every((test) => test(node))) matches.push(node);
  return matches;
}

function testOf(graph: GraphData, term: Term, findings?: Findings): (node: number) => boolean {
  const test = plainTest(graph, term, findings);
  return term.exclude ? (node) => !test(node) : test;
}

function plainTest(graph: GraphData, { field, value }: Term, findings?: Findings): (node: number) => boolean {
  const wanted = value.toLowerCase();
  const inOp = opsMatching(graph, wanted, field === "op");
  switch (field) {
    case "op":
      return (node) => inOp[graph.op[node]!]!;
    case "name":
      return (node) => graph.names[node]!.toLowerCase().includes(wanted);
    case "dtype":
      return byType(graph, wanted);
    case "attr":
      return byAttribute(graph, wanted);
    case "finding":
      return byFinding(graph, wanted, findings);
    default:
      return (node) => inOp[graph.op[node]!]! || graph.names[node]!.toLowerCase().includes(wanted);
  }
}

/** Which ops match: `op:Conv2D` is that op if the graph has it, else every op that begins so. */
function opsMatching(graph: GraphData, wanted: string, byPrefix: boolean): boolean[] {
  const lower = graph.ops.map((op) => op.toLowerCase());
  if (!byPrefix) return lower.map((op) => op.includes(wanted));
  return lower.includes(wanted) ? lower.map((op) => op === wanted) : lower.map((op) => op.startsWith(wanted));
}

/** Nodes that read or produce a tensor of the type. */
function byType(graph: GraphData, wanted: string): (node: number) => boolean {
  const types = graph.types.map((type) => type.split(" ")[0]!.toLowerCase() === wanted);
  const has = new Uint8Array(graph.names.length);
  graph.edge_type.forEach((type, edge) => {
    if (types[type]) has[graph.source[edge]!] = has[graph.target[edge]!] = 1;
  });
  return (node) => has[node] === 1;
}

/** As the server does it: `name`, or `name=part of the value`. */
function byAttribute({ attributes }: GraphData, wanted: string): (node: number) => boolean {
  const { texts, nodes } = attributes ?? { texts: [], nodes: [] };
  const at = wanted.indexOf("=");
  const [name, part] = at < 0 ? [wanted, ""] : [wanted.slice(0, at), wanted.slice(at + 1)];
  const matches = texts.map((text) => {
    const equals = text.indexOf("=");
    return text.slice(0, equals).toLowerCase() === name && text.slice(equals + 1).toLowerCase().includes(part);
  });
  return (node) => nodes[node]?.some((number) => matches[number]) ?? false;
}

function byFinding(graph: GraphData, wanted: string, findings?: Findings): (node: number) => boolean {
  const sets = [...(findings ?? [])].filter(([code]) => code.toLowerCase().startsWith(wanted)).map(([, graphs]) => graphs.get(graph.id));
  return (node) => sets.some((set) => set?.has(graph.names[node]!));
}

/** The addresses of nodes. */
export function addresses(graph: GraphData, nodes: readonly number[]): NodeAddress[] {
  return nodes.map((node) => ({ graph: graph.id, node: graph.names[node]! }));
}
