"""Rewrite rules by op family; `fix.rule` finds them through the catalog `fix.rule.RULES`."""
