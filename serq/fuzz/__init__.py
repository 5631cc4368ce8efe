"""Random programs and the comparisons they are put to; needs the extra ``fuzz`` (Hypothesis)."""
