"""The control flow ops of TF1."""

ENTERS, EXITS = ("Enter", "RefEnter"), ("Exit", "RefExit")
MERGES, SWITCHES = ("Merge", "RefMerge"), ("Switch", "RefSwitch", "_SwitchN")
NEXTS = ("NextIteration", "RefNextIteration")
