"""Tailor's figures on this machine, beside their targets, and beside other engines where these have a counterpart.

rows/ measures, one module per subject. processes/ runs in processes of its own. The other modules carry the figures to
the table and to JSON. docs/performance.md explains every row.
"""
