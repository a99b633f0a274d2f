"""What the options of `tfport check` may say; here, so that `--help` stays instant."""

from __future__ import annotations

DEVICES = ("cpu", "gpu")
LOADERS = ("capi", "serving", "python", "keras")
NEVER = "never"
FAIL_ON = ("error", "unknown", "warning", "note", NEVER)
FORMS = ("text", "json", "sarif", "junit", "markdown")
