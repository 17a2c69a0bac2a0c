"""What runs, qlog files and captures show: `inspect`, standards of loss detection (`losses`), `pacing`."""
