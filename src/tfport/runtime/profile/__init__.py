"""Where the time of a run goes: islands, host steps, copies between them, and the rest."""
