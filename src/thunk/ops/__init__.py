"""Operators: one declaration each, in one folder a family. Imported for their declarations."""
