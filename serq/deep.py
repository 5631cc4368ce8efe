"""The one place that lets Python recurse deeply.

Passes over syntax trees and the IR are written as plain recursive functions. The parser bounds
how deeply a text may nest, but a written-out aggregate is a left fold of up to 4 096 terms, so
these passes need more stack than Python's default limit gives: they run in a thread with a stack
of their own size.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STACK_BYTES = tuple(size << 20 for size in (512, 128, 32))
"""Reserved, not used: pages are only touched as deep as a program really is. Where the system
does not give the first, the next is tried."""

RECURSION_LIMIT = 400_000

_here = threading.local()
_lock = threading.Lock()


def run_deep(work: Callable[[], T]) -> T:
    """``work()``, with room for several hundred thousand nested Python calls.

    What it raises is raised here. Nested calls run at once, on the stack they already have.
    """
    if getattr(_here, "deep", False):
        return work()
    result: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        _here.deep = True
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    with _lock:  # the stack size is a setting of the process, read when a thread starts
        sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
        before = threading.stack_size()
        try:
            thread = _started(body)
        finally:
            threading.stack_size(before)
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def _started(body: Callable[[], None]) -> threading.Thread:
    """A running thread with the largest stack that the system gives."""
    for size in STACK_BYTES:
        threading.stack_size(size)
        # A daemon, so that Ctrl-C in the thread that waits ends the program at once.
        thread = threading.Thread(target=body, name="serq-deep", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if size == STACK_BYTES[-1]:
                raise
        else:
            return thread
    raise AssertionError("STACK_BYTES is not empty")
