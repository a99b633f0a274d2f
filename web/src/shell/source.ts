/** Where all views get their data from. */

import { EmbeddedSource, embeddedDocuments } from "../api/embedded";
import { HttpSource, takeToken } from "../api/http";
import type { Source } from "../api/source";

const documents = embeddedDocuments();

/** The documents of a static page, if this is one. */
export const embedded = documents ? new EmbeddedSource(documents) : null;

export const source: Source = embedded ?? new HttpSource(takeToken());
