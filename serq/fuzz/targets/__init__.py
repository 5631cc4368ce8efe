"""The comparisons that random programs are put to, one module each."""
