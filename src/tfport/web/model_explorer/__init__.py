"""An extension of Google's Model Explorer: `model-explorer --extensions=tfport.web.model_explorer`.

Model Explorer imports `main`, which needs its package. What it shows is made by the other modules: the
graphs of `web.graph_view` with the names of `shown_graphs`, and the files of `node_data`.
"""
