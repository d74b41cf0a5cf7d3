"""Dialects of data sets, which the benchmarks read and people do not write."""
