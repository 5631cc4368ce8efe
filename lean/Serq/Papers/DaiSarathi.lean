import Serq.Claims.DaiSarathi
import Serq.Thm.Work
/-!
# Sarathi-Serve (Dai, Deng, Li, Peng, arXiv 2504.07347)

`token_rate` follows from the cost alone, `work_conserving` from the greedy fill.

## `bounded`, open

The statement in words: at every iteration the tokens of all requests that have come are at most 129
requests' worth more than the tokens served. It is true as stated. The argument, with `a` the number that
have come, `s` the tokens served, the running batch included, and `e` the end of the running iteration (the
time, when none runs):

* `fluid`: while an arrival is pending, `1280 * e ≤ 46750 * (s + 165120)`; when none is,
  `1280 * a ≤ s + 165120`. As the `a`-th comes at `46750 * a`, both give the claim.
* A full batch keeps `fluid` exactly: `1280 * 4675 = 46750 * 128`.
* A batch that is not full serves all there is to do, so fewer than 128 requests are there, each with less
  than 1280 tokens: `1280 * a ≤ s + 1280 * 127`; and the next one has not come: `now ≤ 46750 * (a + 1)`.
* An idle engine has nothing left: `1280 * a ≤ s`, until the next one comes.

The lemmas, in order: `worth` (the tokens that a session in the ready list or a job stands for) and
`conserved : 1280 * a ≤ s - running + worth`, kept by commands, wakes and batches (on top of
`TwoRuns.Inv`, which has the places; medium); `worth_le : worth ≤ 1280 * jobs` when nobody is ready
(easy); `clock : the next arrival is at 46750 * (a + 1)` (easy); `fluid` at the start of an iteration
(easy, linear) and when time goes on, which needs an induction over the path of its own, because only
settled machines jump in time (medium).
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
