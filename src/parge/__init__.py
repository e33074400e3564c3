"""Embed the vertices of a graph on several machines, none of which has to hold it.

Values flow one way, and each stage is a folder::

    Graph --decompose--> Decomposition --techniques--> local vectors --reconcile--> Embedding --evaluate--> Scores
"""

__version__ = "0.1.0"
