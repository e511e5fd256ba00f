"""Shape and dtype rules shared by declarations: specs in, specs out."""
