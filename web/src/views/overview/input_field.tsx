/** One input of a signature: typed, generated, or dropped. */

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { TensorSpec } from "../../api/reports";
import { Name } from "../../components/text";
import { tell } from "../../shell/notice";
import { exampleOf, filled, fromFile, NO_VALUE, type InputValue } from "./input_values";
import { typeOf } from "./signatures";

interface InputFieldProps {
  name: string;
  spec: TensorSpec;
  optional: boolean;
  value: InputValue;
  onChange: (value: InputValue) => void;
}

export function InputField({ name, spec, optional, value, onChange }: InputFieldProps): JSX.Element {
  const id = useId();
  const [over, setOver] = useState(false);
  const take = (file: File | undefined) => {
    if (file) fromFile(file, spec.dtype).then(onChange, tell);
  };
  return (
    <div
      class={`input-field ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        event.stopPropagation();
        setOver(false);
        take(event.dataTransfer?.files[0]);
      }}
    >
      <label for={id}>
        <span class="mono">
          <Name text={name} longest={80} />
        </span>{" "}
        <small>
          {typeOf(spec)}
          {optional && ", optional"}
        </small>
      </label>
      {value.kind === "ready" ? (
        <p class="ready" id={id}>
          <Name text={value.description} />
          <button type="button" class="quiet" aria-label={`Clear ${name}`} onClick={() => onChange(NO_VALUE)}>
            ✕
          </button>
        </p>
      ) : (
        <textarea
          id={id}
          rows={value.text.length > 120 ? 4 : 1}
          spellcheck={false}
          class="mono"
          placeholder={`JSON such as ${exampleOf(spec)}, or drop an image, .npy or text file`}
          value={value.text}
          onInput={(event) => onChange({ kind: "text", text: event.currentTarget.value })}
        />
      )}
      <div class="fills">
        <button type="button" class="quiet" onClick={() => onChange(filled(spec, "zeros"))}>
          zeros<span class="visually-hidden"> for {name}</span>
        </button>
        <button type="button" class="quiet" onClick={() => onChange(filled(spec, "random"))}>
          random<span class="visually-hidden"> for {name}</span>
        </button>
        <label class="file-button quiet">
          file<span class="visually-hidden"> for {name}</span>
          <input
            type="file"
            class="visually-hidden"
            onChange={(event) => {
              take(event.currentTarget.files?.[0]);
              event.currentTarget.value = "";
            }}
          />
        </label>
      </div>
    </div>
  );
}
