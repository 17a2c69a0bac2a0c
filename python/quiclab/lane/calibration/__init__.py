"""Calibration: the cost of a program on this machine, and the emulated network compared with its scenario."""
