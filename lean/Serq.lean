import Serq.Exec
import Serq.Claim
/-! The library: everything that is built and audited. -/
