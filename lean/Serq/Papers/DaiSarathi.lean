import Serq.Claims.DaiSarathi
import Serq.Thm.Work
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

/-- Every batch of Sarathi-Serve is full or holds all there is to do: conditions (8) and (9). -/
theorem work_conserving : Claims.DaiSarathi.work_conserving := by
  intro w hw m hm hf hi
  have h := Serq.work_conserving (D := deployment) (P := prog) (W := family_work_conserving) rfl rfl
    (by simp [noEnginePools, deployment]) rfl w hw m hm hf hi
  have hb : deployment.budget = 128 := rfl
  simp only [hb] at h
  omega

end Serq.Papers.DaiSarathi
