"""What of the documentation is made from the code: ``python -m serq.docsgen`` writes it."""
