"""How results read: text, JSON, SARIF, JUnit and Markdown."""
