"""Compiler: from graphs to schedules of fused loop nests, and to a plan of their memory."""
