"""Rewrite rules by op family; `fix.rulebook` finds them through the catalog `fix.rule.RULES`."""
