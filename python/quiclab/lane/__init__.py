"""The kernel lane: runs of real programs behind the network of a scenario, in real or virtual time."""
