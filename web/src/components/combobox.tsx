/** A text field with suggestions from the server, by mouse and keyboard. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

const WAIT_MS = 120;

export interface Suggestion {
  value: string;
  note?: ComponentChildren;
  /** Whether the user goes on typing after it, as in a folder. */
  partial?: boolean;
}

interface ComboboxProps {
  label: string;
  placeholder: string;
  suggest: (text: string) => Promise<Suggestion[]>;
  onChoose: (value: string) => void;
  /** Each change of the text, before something is chosen. */
  onText?: (text: string) => void;
  /** The text stays after a choice. */
  keeps?: boolean;
  initial?: string;
  hideLabel?: boolean;
  isSearch?: boolean;
}

export function Combobox(props: ComboboxProps): JSX.Element {
  const { label, placeholder, suggest, onChoose, onText, keeps = false, initial = "", hideLabel = false, isSearch } = props;
  const id = useId();
  const [text, setText] = useState(initial);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const suggestions = useSuggestions(text, open, suggest);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => setActive(-1), [suggestions]);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active]);

  const choose = (value: string, partial = false) => {
    setText(partial || keeps ? value : "");
    setOpen(partial);
    if (!partial && value.trim()) onChoose(value.trim());
  };
  const handle = (event: KeyboardEvent) => {
    const last = suggestions.length - 1;
    if (event.key === "ArrowDown") setActive(Math.min(active + 1, last));
    else if (event.key === "ArrowUp") setActive(Math.max(active - 1, -1));
    else if (event.key === "Escape" && open) setOpen(false);
    else if (event.key === "Enter") {
      const picked = suggestions[active];
      choose(picked?.value ?? text, picked?.partial);
    } else if (event.key === "Tab" && open && active < 0 && suggestions.length === 1 && suggestions[0]?.partial) {
      choose(suggestions[0].value, true);
    } else return;
    if (event.key.startsWith("Arrow")) setOpen(true);
    event.preventDefault();
  };
  const expanded = open && suggestions.length > 0;
  return (
    <div class="combobox">
      <label for={id} class={hideLabel ? "visually-hidden" : ""}>
        {label}
      </label>
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        data-search={isSearch ? "" : undefined}
        aria-autocomplete="list"
        aria-expanded={expanded}
        aria-controls={`${id}-list`}
        aria-activedescendant={expanded && active >= 0 ? `${id}-${active}` : undefined}
        placeholder={placeholder}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          onText?.(event.currentTarget.value);
          setOpen(true);
        }}
        onKeyDown={handle}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
      />
      <ul id={`${id}-list`} ref={list} role="listbox" aria-label={label} hidden={!expanded}>
        {suggestions.map(({ value, note, partial }, index) => (
          <li
            key={value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(value, partial);
            }}
          >
            <bdi>{value}</bdi> {note && <small>{note}</small>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function useSuggestions(text: string, open: boolean, suggest: ComboboxProps["suggest"]): Suggestion[] {
  const [suggestions, setSuggestions] = useState<Suggestion[]>([]);
  useEffect(() => {
    if (!open) return;
    let wanted = true;
    const ask = () => suggest(text).then((answer) => wanted && setSuggestions(answer), () => wanted && setSuggestions([]));
    const timer = setTimeout(ask, WAIT_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [text, open]);
  return suggestions;
}
