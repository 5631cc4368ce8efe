import Serq.Claims.DaiSarathi
import Serq.Papers.DaiFluid
import Serq.Thm.Work
/-!
# Sarathi-Serve (Dai, Deng, Li, Peng, arXiv 2504.07347)

`token_rate` follows from the cost alone, `work_conserving` from the greedy fill, `bounded` from the fluid
bound of `DaiFluid`, whose argument stands at the head of `DaiBacklog`.
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

/-- The work that has come and is not served never exceeds 129 requests' worth of tokens: Theorem 2(b) for
arrivals at a constant gap, at the largest load that can be stable. -/
theorem bounded : Claims.DaiSarathi.bounded := by
  intro w hw m hm hf hi
  -- the program and the deployment of the claim are those that `Dai` speaks of
  have hm' : Reach Dai.deployment w Dai.prog m := hm
  exact (Dai.good_reach hw.2.1 hw.2.2 hm' hf).1.claim hi

end Serq.Papers.DaiSarathi
