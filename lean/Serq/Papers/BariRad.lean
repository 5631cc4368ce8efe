import Serq.Claims.BariRad
import Serq.Thm.Rate
/-!
# RAD (Bari, Hegde, de Veciana, arXiv 2508.01002)
-/

namespace Serq.Papers.BariRad

open Serq.Claims.BariRad

/-- A node never serves more than one token in tlin / bcol + tnl of time, whatever comes: Theorem 1. -/
theorem token_rate : Claims.BariRad.token_rate := by
  refine served_rate ?_
  intro residents now s hs
  have hs' : s.tokens ≤ 128 := hs
  simp only [deployment, Expr.eval, BinaryOp.apply, Fun.apply, statsEnv]
  omega

end Serq.Papers.BariRad
