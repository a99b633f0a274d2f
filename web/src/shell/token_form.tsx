/** What a page shows whose browser has no cookie of this server: a field for the token. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { tokenIn } from "../api/http";
import { sentenceOf } from "./notice";
import { locked, server } from "./source";

export function TokenForm(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState("");
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await server?.logIn(tokenIn(field.current?.value ?? ""));
      locked.value = false;
    } catch (error) {
      setRefused(sentenceOf(error));
    }
  };
  return (
    <main id="main" class="page" tabIndex={-1}>
      <form class="card stack token-form" onSubmit={(event) => void submit(event)}>
        <h1>This page needs the token</h1>
        <p>
          Paste the address that <code>tfport ui</code> printed in its terminal, or the token in it. This browser then keeps
          it until it is closed, and the address above opens here.
        </p>
        <label>
          <span class="soft">Token or address</span>
          <input ref={field} type="password" name="token" autocomplete="off" required />
        </label>
        {refused && <p role="alert"><span class="glyph bad" aria-hidden="true">✕</span> {refused}</p>}
        <button type="submit" class="primary">Open</button>
      </form>
    </main>
  );
}
