/**
 * The tree of name scopes of a graph, in preorder.
 *
 * Names are split at "/". A chain of scopes with nothing else in them is one item; a scope
 * with a single node is not an item: the node is labeled with both. A node that has the name of a
 * scope is inside of the scope. Nodes of a group are in an item of their own inside of their scope.
 * Item 0 is the root.
 */

/** Deeper scopes than this are part of the label: a hostile name may have thousands of slashes. */
const DEEPEST = 48;

/** Items (scopes and nodes) in preorder: the items below `i` are `i + 1 … end[i] - 1`. */
export interface ScopeTree {
  parent: Int32Array;
  end: Int32Array;
  depth: Int32Array;
  /** The node of an item, or -1 for a scope. */
  node: Int32Array;
  label: string[];
  /** The item of a node, or -1 for a node that was left out. */
  item: Int32Array;
  /** Whether an item is a group. */
  group: Uint8Array;
}

/** Growing columns of the tree before chains of scopes are joined. */
class Trie {
  parent: number[] = [-1];
  segment: string[] = [""];
  node: number[] = [-1];
  first: number[] = [-1];
  last: number[] = [-1];
  next: number[] = [-1];
  readonly groups = new Set<number>();
  private scopes = new Map<string, number>([["", 0]]);
  private lastPath = "";
  private lastScope = 0;
  private groupAt = new Map<number, number>();

  add(parent: number, segment: string, node: number): number {
    const index = this.parent.push(parent) - 1;
    this.segment.push(segment);
    this.node.push(node);
    this.first.push(-1);
    this.last.push(-1);
    this.next.push(-1);
    if (this.first[parent] === -1) this.first[parent] = index;
    else this.next[this.last[parent]!] = index;
    this.last[parent] = index;
    return index;
  }

  /** The scope of the first `end` letters of a name. Neighbors are mostly in the same scope. */
  scopeOf(name: string, end: number): number {
    if (end === this.lastPath.length && name.startsWith(this.lastPath)) return this.lastScope;
    this.lastPath = name.slice(0, end);
    return (this.lastScope = this.scope(this.lastPath));
  }

  /** The scope of a path such as `a/b`, added with those above it if it is new. */
  scope(path: string): number {
    const known = this.scopes.get(path);
    if (known !== undefined) return known;
    const slash = path.lastIndexOf("/");
    const parent = slash < 0 ? 0 : this.scope(path.slice(0, slash));
    const index = this.add(parent, path.slice(slash + 1), -1);
    this.scopes.set(path, index);
    return index;
  }

  /** The item of a group, added to its scope if it is new. */
  group(scope: number, number: number, label: string): number {
    let index = this.groupAt.get(number);
    if (index === undefined) {
      this.groupAt.set(number, (index = this.add(scope, label, -1)));
      this.groups.add(index);
    }
    return index;
  }

  isScope(path: string): boolean {
    return this.scopes.has(path);
  }
}

function lastScopeEnd(name: string): number {
  let at = -1;
  for (let depth = 0; depth < DEEPEST; depth++) {
    const slash = name.indexOf("/", at + 1);
    if (slash < 0 || slash === name.length - 1) break;
    at = slash;
  }
  return at;
}

/** Nodes that are alike: the number of the group of each, or -1, and what the groups are called. */
export interface Groups {
  of: Int32Array;
  labels: string[];
  /** The first groups, so many, are at the top and not in a scope. */
  atRoot: number;
}

function fill(names: string[], leaveOut: (node: number) => boolean, groups: Groups): Trie {
  const trie = new Trie();
  const ends = names.map(lastScopeEnd);
  for (let i = 0; i < names.length; i++) {
    const top = groups.of[i]! >= 0 && groups.of[i]! < groups.atRoot;
    if (ends[i]! > 0 && !leaveOut(i) && !top) trie.scopeOf(names[i]!, ends[i]!);
  }
  for (let i = 0; i < names.length; i++) {
    if (leaveOut(i)) continue;
    const name = names[i]!;
    const group = groups.of[i]!;
    const top = group >= 0 && group < groups.atRoot;
    const inside = !top && trie.isScope(name);
    const scope = top ? 0 : inside ? trie.scope(name) : ends[i]! > 0 ? trie.scopeOf(name, ends[i]!) : 0;
    const within = group < 0 ? scope : trie.group(scope, group, groups.labels[group]!);
    trie.add(within, top ? name : name.slice(inside ? name.lastIndexOf("/") + 1 : ends[i]! + 1), i);
  }
  return trie;
}

/** The tree of these names, without the nodes that are left out. */
export function scopeTree(names: string[], leaveOut: (node: number) => boolean, groups: Groups): ScopeTree {
  const trie = fill(names, leaveOut, groups);
  const most = trie.parent.length;
  const parent = new Int32Array(most).fill(-1);
  const end = new Int32Array(most);
  const depth = new Int32Array(most);
  const node = new Int32Array(most).fill(-1);
  const group = new Uint8Array(most);
  const item = new Int32Array(names.length).fill(-1);
  const label: string[] = [];
  const open = [0];
  const parents = [-1];
  const children: number[] = [];
  while (open.length) {
    let at = open.pop()!;
    const above = parents.pop()!;
    let text = trie.segment[at]!;
    while (at !== 0 && trie.node[at] === -1 && trie.next[trie.first[at]!] === -1) {
      at = trie.first[at]!;
      text += "/" + trie.segment[at]!;
    }
    const index = label.push(text) - 1;
    parent[index] = above;
    depth[index] = above < 0 ? 0 : depth[above]! + 1;
    node[index] = trie.node[at]!;
    group[index] = trie.groups.has(at) ? 1 : 0;
    if (node[index]! >= 0) item[node[index]!] = index;
    for (let child = trie.first[at]!; child !== -1; child = trie.next[child]!) children.push(child);
    while (children.length) {
      open.push(children.pop()!);
      parents.push(index);
    }
  }
  const count = label.length;
  for (let i = count - 1; i >= 0; i--) {
    end[i] = Math.max(end[i]!, i + 1);
    const above = parent[i]!;
    if (above >= 0) end[above] = Math.max(end[above]!, end[i]!);
  }
  return {
    parent: parent.slice(0, count), end: end.slice(0, count), depth: depth.slice(0, count),
    node: node.slice(0, count), label, item, group: group.slice(0, count),
  };
}
