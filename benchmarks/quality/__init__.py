"""How good parts are beside the whole graph: cells, tables and the plot of docs/measured/quality.md."""
