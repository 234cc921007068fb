"""Tailor's figures on this machine: each beside its target, and beside other engines where they have the like.

rows/ holds what is measured, one module a subject; processes/ is what runs in processes of its own; the rest carries
figures from there to the table and to JSON. docs/performance.md explains every row.
"""
