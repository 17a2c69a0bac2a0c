"""Calibration: what a program costs on this machine, and whether the network of a scenario is the wanted one."""
