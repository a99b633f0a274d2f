/** Runs a query over the graphs that are loaded, and on the server where it needs to. */
import type { NodeAddress, SearchResult } from "../api/types";
import type { Hierarchy } from "./hierarchy/hierarchy";
import type { Found } from "./panels/results";
import { addresses, matchNodes, needsServer, parseQuery, type Findings } from "./search";

const MOST = 20_000;

export interface Searchable {
  hierarchies: ReadonlyMap<string, Hierarchy>;
  findings?: Findings | undefined;
  search?: ((query: string) => Promise<SearchResult>) | undefined;
}

export async function findNodes(query: string, { hierarchies, findings, search }: Searchable): Promise<Found> {
  const terms = parseQuery(query);
  if (!terms.length) return { matches: [], total: 0, note: "" };
  const attributes = terms.filter((term) => term.field === "attr");
  if (needsServer(terms) && !search) return { matches: [], total: 0, note: "This page cannot search attributes; open the model with `tfport ui`." };
  const matches: NodeAddress[] = [];
  for (const { graph } of hierarchies.values()) matches.push(...addresses(graph, matchNodes(graph, terms, findings)));
  if (!needsServer(terms)) return { matches: matches.slice(0, MOST), total: matches.length, note: "" };
  try {
    return await restrict(matches, attributes, hierarchies, search!);
  } catch (error) {
    return { matches: [], total: 0, note: error instanceof Error ? error.message : String(error) };
  }
}

/** Keep those that the server names for each `attr:` term, or does not name for `-attr:`. */
async function restrict(
  matches: NodeAddress[], attributes: ReturnType<typeof parseQuery>, hierarchies: ReadonlyMap<string, Hierarchy>,
  search: (query: string) => Promise<SearchResult>,
): Promise<Found> {
  let kept = matches;
  const key = (address: NodeAddress) => `${address.graph}\n${address.node}`;
  for (const term of attributes) {
    const answer = await search(`attr:${term.value}`);
    const named = new Set(answer.matches.map(key));
    kept = kept.filter((address) => named.has(key(address)) !== term.exclude);
    if (attributes.length === 1 && !term.exclude) kept.push(...answer.matches.filter(({ graph }) => !hierarchies.has(graph)));
  }
  return { matches: kept, total: kept.length, note: "" };
}
