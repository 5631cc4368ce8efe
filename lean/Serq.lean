import Serq.Exec
import Serq.Claim
import Serq.Thm.Serve
import Serq.Thm.Evict
import Serq.Thm.Frame
import Serq.Thm.Path
import Serq.Thm.Rate
import Serq.Thm.Fill
import Serq.Thm.ServeBatch
import Serq.Thm.Blocks
import Serq.Thm.Work
import Serq.Thm.Memory
import Serq.Thm.TwoRuns
import Serq.Oracle
import Serq.Reached
import Serq.Claims
import Serq.ClaimsProved
/-! The library: everything that is built and audited. -/
