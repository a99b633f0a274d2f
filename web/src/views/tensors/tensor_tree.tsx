/** Tensors as a tree by name, with the size of each branch. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { bytes, count, shape } from "../../components/format";
import { Name } from "../../components/text";
import { leafName, treeOf, type TensorFolder } from "./rows";
import { Peek, TensorName } from "./tensor_list";
import type { TensorListProps } from "./tensors";

const MOST_SHOWN = 200;

export function TensorTree(props: TensorListProps): JSX.Element {
  const root = useMemo(() => treeOf(props.rows), [props.rows]);
  return (
    <div class="tensor-tree">
      <Contents folder={root} {...props} />
    </div>
  );
}

type FolderProps = TensorListProps & { folder: TensorFolder };

function Folder({ folder, ...props }: FolderProps): JSX.Element {
  const [open, setOpen] = useState(props.rows.some((row) => row.key === props.selected && row.name.startsWith(folder.path)));
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="mono">
          <Name text={folder.name} longest={120} />/
        </span>{" "}
        <small>
          {count(folder.count, "tensor")}, {bytes(folder.bytes)}
        </small>
      </summary>
      {open && <Contents folder={folder} {...props} />}
    </details>
  );
}

function Contents({ folder, ...props }: FolderProps): JSX.Element {
  const [shown, setShown] = useState(MOST_SHOWN);
  const { folders, tensors } = folder;
  return (
    <ul>
      {folders.map((inner) => (
        <li key={inner.path}>
          <Folder folder={inner} {...props} />
        </li>
      ))}
      {tensors.slice(0, shown).map((row) => (
        <li key={row.key} class="leaf">
          <TensorName row={row} text={leafName(row.name)} selected={props.selected} onSelect={props.onSelect} />
          <small>
            {row.dtype} {shape(row.shape)} {bytes(row.bytes)}
          </small>
          {row.key === props.selected && <Peek model={props.model} row={row} />}
        </li>
      ))}
      {tensors.length > shown && (
        <li>
          <button type="button" onClick={() => setShown(shown + MOST_SHOWN * 5)}>
            Show more
          </button>
        </li>
      )}
    </ul>
  );
}
