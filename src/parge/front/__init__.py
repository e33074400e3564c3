"""What Python calls: from anything that holds a graph, and keywords, to a plan, a run, and its result."""
