"""The all-MiniLM-L6-v2 sentence encoder: weights, tokenizer, Tailor graph and a float64 reference."""
