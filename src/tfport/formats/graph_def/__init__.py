"""GraphDef and MetaGraph files, binary or text."""
