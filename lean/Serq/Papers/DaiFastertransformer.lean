import Serq.Claims.DaiFastertransformer
import Serq.Thm.Rate
/-!
# FasterTransformer's batching (Dai, Deng, Li, Peng, arXiv 2504.07347)
-/

namespace Serq.Papers.DaiFastertransformer

open Serq.Claims.DaiFastertransformer

/-- FasterTransformer's batching never serves faster than one full batch of 128 tokens in the time of a
full batch: Theorem 2(a). -/
theorem token_rate : Claims.DaiFastertransformer.token_rate := by
  refine served_rate ?_
  intro residents now s hs
  have hs' : s.tokens ≤ 128 := hs
  simp only [deployment, Expr.eval, BinaryOp.apply, Fun.apply, statsEnv]
  omega

/-- Two sessions. -/
def two : Workload := { init := [[], []], gaps := some [46750, 46750] }

/-- The machine after `n` events. -/
def after : Nat → Machine → Machine
  | 0, m => m
  | n + 1, m => after n (step deployment m)

/-- Every machine after some events is reached. -/
theorem reach_after (n : Nat) {m : Machine} (h : Reach deployment two prog m) :
    Reach deployment two prog (after n m) := by
  induction n generalizing m with
  | zero => exact h
  | succ n ih => exact ih h.step

/-- After twelve events an iteration has started at 93 500 that serves one token although 291 are
wanted. -/
theorem witness :
    (after 12 (start deployment two prog)).outOfFuel = false ∧
    (after 12 (start deployment two prog)).clock.iterEnd.isSome = true ∧
    (after 12 (start deployment two prog)).clock.last.start = 93500 ∧
    (after 12 (start deployment two prog)).clock.last.demand = 291 ∧
    (after 12 (start deployment two prog)).clock.last.tokens = 1 := by decide +kernel

/-- FasterTransformer's batching is not work-conserving: two sessions reach an iteration that serves one
token although there is work for a full batch. -/
theorem not_work_conserving : Claims.DaiFastertransformer.not_work_conserving := by
  obtain ⟨h1, h2, h3, h4, h5⟩ := witness
  refine ⟨2, two, ⟨⟨by decide, rfl, rfl⟩, rfl⟩, _, reach_after 12 .start, h1, ?_, ?_, ?_, ?_⟩
  · intro h
    rw [h] at h2
    exact absurd h2 (by simp)
  · rw [h3]
    omega
  · rw [h4]
    omega
  · rw [h5]
    omega

end Serq.Papers.DaiFastertransformer
