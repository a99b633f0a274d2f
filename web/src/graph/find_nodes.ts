/** Runs a query over the graphs that are loaded, and on the server where it needs to. */
import type { NodeAddress, SearchResult } from "../api/types";
import type { Hierarchy } from "./hierarchy/hierarchy";
import type { Found } from "./panels/results";
import { addresses, matchNodes, needsServer, parseQuery, type Findings, type Term } from "./search";

const MOST = 20_000;

export interface Searchable {
  hierarchies: ReadonlyMap<string, Hierarchy>;
  findings?: Findings | undefined;
  search?: ((query: string) => Promise<SearchResult>) | undefined;
}

const NO_SERVER = "This page cannot search attributes; open the model with `tfport ui`.";
const NO_CHECK = "No findings yet: choose targets under Verdicts first.";

export async function findNodes(query: string, { hierarchies, findings, search }: Searchable): Promise<Found> {
  const terms = parseQuery(query);
  if (!terms.length) return { matches: [], total: 0, note: "" };
  if (!findings && terms.some((term) => term.field === "finding")) return { matches: [], total: 0, note: NO_CHECK };
  const graphs = [...hierarchies.values()].map(({ graph }) => graph);
  const matches: NodeAddress[] = [];
  for (const graph of graphs) matches.push(...addresses(graph, matchNodes(graph, terms, findings)));
  if (!graphs.some((graph) => needsServer(graph, terms))) return { matches: matches.slice(0, MOST), total: matches.length, note: "" };
  if (!search) return { matches: [], total: 0, note: NO_SERVER };
  try {
    return await restrict(matches, terms.filter((term) => term.field === "attr"), search);
  } catch (error) {
    return { matches: [], total: 0, note: error instanceof Error ? error.message : String(error) };
  }
}

/** Keep those that the server names for each `attr:` term, or does not name for `-attr:`. */
async function restrict(
  matches: NodeAddress[], attributes: readonly Term[], search: (query: string) => Promise<SearchResult>,
): Promise<Found> {
  let kept = matches;
  let note = "";
  const key = (address: NodeAddress) => `${address.graph}\n${address.node}`;
  for (const term of attributes) {
    const answer = await search(/\s/.test(term.value) ? `attr:"${term.value}"` : `attr:${term.value}`);
    if (answer.total > answer.matches.length) note = `Among the first ${answer.matches.length.toLocaleString("en")} of ${answer.total.toLocaleString("en")} nodes with this attribute`;
    const named = new Set(answer.matches.map(key));
    kept = kept.filter((address) => named.has(key(address)) !== term.exclude);
  }
  return { matches: kept, total: kept.length, note };
}
