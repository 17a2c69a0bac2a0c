"""quiclab compared with what it models: Linux TCP, QUIC stacks, standards, and one lane with another."""
