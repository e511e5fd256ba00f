"""Lazy execution: operations are recorded on a trie, cut into graphs, and run when needed."""
