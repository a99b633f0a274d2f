/** Where all views get their data from. */

import { EmbeddedSource, embeddedDocuments } from "../api/embedded";
import { HttpSource, takeToken } from "../api/http";
import type { Source } from "../api/source";
import { Signal } from "./signal";

const documents = embeddedDocuments();

/** The documents of a static page, if this is one. */
export const embedded = documents ? new EmbeddedSource(documents) : null;

/** Whether the server wants the token. */
export const locked = new Signal(false);

/** The server of the page; null for a page that is a file. */
export const server = embedded ? null : new HttpSource(takeToken(), () => (locked.value = true));

export const source: Source = (embedded ?? server)!;
