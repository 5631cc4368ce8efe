"""From the syntax tree to the kernel: declarations into tables, statements without their sugar.

One module per piece of sugar. Nothing here makes IR: `serq.link` does, from what is left.
"""
