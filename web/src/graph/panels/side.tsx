/** Beside the graph: a search, and below it the results or the tree of what is open. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { NodeAddress } from "../../api/types";
import { findNodes, type Searchable } from "../find_nodes";
import type { Block } from "../scene/block";
import { Results, type Found } from "./results";
import { Tree } from "./tree";

interface SideProps extends Searchable {
  /** Load graphs that are called and not loaded yet. */
  loadCalled: () => Promise<{ loaded: number; left: number }>;
  label: string;
  blocks: readonly Block[];
  selected: string | null;
  onSelect: (block: Block) => void;
  onToggle: (block: Block) => void;
  onFound: (matches: readonly NodeAddress[]) => void;
  onGo: (address: NodeAddress) => void;
  onClose: () => void;
  /** Filled with a function that goes to the next or previous result. */
  step: { current: (by: 1 | -1) => void };
}

const NOTHING: Found = { matches: [], total: 0, note: "" };
const DELAY = 120;
const HELP = "Words in names, or op:MatMul, dtype:int64, name:…, attr:…, finding:…; - excludes";

export function Side(props: SideProps) {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<Found>(NOTHING);
  const [current, setCurrent] = useState(-1);
  const [left, setLeft] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const { hierarchies, findings, search, onFound } = props;

  useEffect(() => {
    let stale = false;
    const show = (next: Found) => {
      if (stale) return;
      setFound(next);
      onFound(next.matches);
    };
    const look = async () => {
      show(await findNodes(query, { hierarchies, findings, search }));
      if (!query.trim()) return;
      for (let more = await props.loadCalled(); !stale; more = await props.loadCalled()) {
        if (more.loaded) show(await findNodes(query, { hierarchies, findings, search }));
        else return setLeft(more.left);
      }
    };
    setCurrent(-1);
    const timer = setTimeout(() => void look(), DELAY);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [query, hierarchies, findings]);

  const go = (index: number) => {
    const address = found.matches[index];
    if (!address) return;
    setCurrent(index);
    props.onGo(address);
  };
  props.step.current = (by) => {
    const count = found.matches.length;
    if (count) go((Math.max(current, by > 0 ? -1 : 0) + by + count) % count);
  };
  const clear = () => {
    setQuery("");
    input.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      if (query) clear();
      else props.onClose();
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (!found.matches.length) return;
    go((current + 1) % found.matches.length);
    props.onClose(); // the keys n and N go on from there
  };
  const opOf = ({ graph, node }: NodeAddress) => {
    const hierarchy = hierarchies.get(graph);
    const index = hierarchy?.nodeNamed(node);
    return hierarchy && index !== undefined ? hierarchy.opOf(index) : "";
  };
  return (
    <aside class="graph-side" aria-label="Search and outline">
      <form role="search" onSubmit={submit}>
        <input
          ref={input} type="search" class="graph-search" value={query} placeholder="Search: MatMul, op:…, dtype:…" title={HELP}
          aria-label={`Search nodes. ${HELP}`} onInput={(event) => setQuery(event.currentTarget.value)} onKeyDown={onKey}
        />
      </form>
      {query.trim() ? (
        <Results found={found} left={left} current={current} onCurrent={go} opOf={opOf} onLeave={clear} />
      ) : (
        <Tree label={props.label} blocks={props.blocks} selected={props.selected} onSelect={props.onSelect} onToggle={props.onToggle} />
      )}
    </aside>
  );
}
