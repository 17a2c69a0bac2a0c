"""Parts of the layer check: module graphs of the Rust crates, and the cycles in them."""
