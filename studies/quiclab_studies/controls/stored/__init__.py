"""What these studies store of a run; in a folder of its own, as all its code is a part of the identity of runs."""
