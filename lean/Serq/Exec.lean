import Serq.Exec.Event
/-! The executable semantics of the fragment. -/
