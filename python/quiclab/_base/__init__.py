"""What all packages of the lab share: files, large libraries, the boundary to Rust, plugins, progress, signals."""
