"""Engines in processes of their own; bench/peers/ has those in C++. engines.py starts them."""
