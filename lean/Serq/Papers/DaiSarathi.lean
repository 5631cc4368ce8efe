import Serq.Claims.DaiSarathi
import Serq.Thm.Rate
/-!
# Sarathi-Serve (Dai, Deng, Li, Peng, arXiv 2504.07347)
-/

namespace Serq.Papers.DaiSarathi

open Serq.Claims.DaiSarathi

/-- Sarathi-Serve never serves faster than one full batch of 128 tokens in the time of a full batch:
Theorem 2(a). -/
theorem token_rate : Claims.DaiSarathi.token_rate := by
  refine served_rate ?_
  intro residents now s hs
  have hs' : s.tokens ≤ 128 := hs
  simp only [deployment, Expr.eval, BinaryOp.apply, Fun.apply, statsEnv]
  omega

end Serq.Papers.DaiSarathi
