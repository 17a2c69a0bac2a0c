"""Scenarios from what others measured: recorded pages (`page`), named paths (`paths`), rates over time (`traces`)."""
