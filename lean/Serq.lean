import Serq.Exec
/-! The library: everything that is built and audited. -/
