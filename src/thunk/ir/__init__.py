"""IR: operator schemas and declarations, and the graphs made of them. Data only."""
