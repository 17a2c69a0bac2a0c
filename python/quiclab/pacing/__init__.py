"""How packets are spaced and acknowledged."""
