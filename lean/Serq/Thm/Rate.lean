import Serq.Thm.Path
/-!
# No engine serves faster than its full batch
-/

namespace Serq

/-- The tokens in the record are the tokens of the batch. -/
theorem statsOf_tokens (l : List Entry) : (statsOf l).tokens = sumTokens l := by
  induction l with
  | nil => rfl
  | cons e l ih =>
    unfold statsOf
    simp only
    split <;> simp [sumTokens, ih]

/-- Up to the end of the running iteration, or up to now, the served tokens keep the rate. -/
def RateOk (T R : Nat) (m : Machine) : Prop :=
  match m.clock.iterEnd with
  | none => m.clock.served * T ≤ R * m.clock.now
  | some (e, _) => m.clock.served * T ≤ R * e

/-- If a batch within the budget never has more tokens than `R` per `T` of its time, then at every
iteration of every path of every program on every workload the tokens served before are at most `R` per
`T` of the time that has passed. -/
theorem served_rate {D : Deployment} {P : Block} {W : Workload → Prop} {T R : Nat}
    (hcost : ∀ residents now (s : IterStats), s.tokens ≤ D.budget →
      s.tokens * T ≤ R * max 1 (D.cost.eval (statsEnv residents now s))) :
    EveryIteration D P W fun r => r.served * T ≤ R * r.start := by
  have hbuild : ∀ m, (buildBatch D (chunkCap D m) m).clock = m.clock := fun m =>
    (buildBatch_keeps D (chunkCap D m) m).1.clock
  refine every_iteration_of (fun m => TimeOk m ∧ RateOk T R m) ?_ ?_ ?_ ?_ ?_
  · intro w _
    refine ⟨TimeOk.initial D w P, ?_⟩
    obtain ⟨_, h1, h2, _⟩ := initial_idle D w P
    unfold RateOk
    rw [h2, h1]
    simp
  · intro m h
    have hs := same_settle D instantFuel m
    refine ⟨h.1.keeps hs.toKeeps, ?_⟩
    unfold RateOk
    rw [hs.clock]
    exact h.2
  · intro m h hn
    refine ⟨h.1.start D, ?_⟩
    have hr : m.clock.served * T ≤ R * m.clock.now := by
      have := h.2
      unfold RateOk at this
      rw [hn] at this
      exact this
    rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
    · exact h.2
    · unfold RateOk
      rw [hbuild, hn]
      exact hr
    · unfold RateOk beginIteration
      simp only [hbuild, Machine.now]
      have hb := (buildBatch_keeps D (chunkCap D m) m).2
      have hc := hcost (buildBatch D (chunkCap D m) m).jobs.length
        (buildBatch D (chunkCap D m) m).now (statsOf (buildBatch D (chunkCap D m) m).plan.batch)
        (by rw [statsOf_tokens]; exact hb)
      have hcost' : max 1 (D.cost.eval (statsEnv (buildBatch D (chunkCap D m) m).jobs.length
          (buildBatch D (chunkCap D m) m).now (statsOf (buildBatch D (chunkCap D m) m).plan.batch))) =
          costOf D (buildBatch D (chunkCap D m) m) := by
        unfold costOf
        simp only
        split <;> omega
      rw [hcost'] at hc
      rw [Nat.add_mul, Nat.mul_add]
      omega
  · intro m t n e h hn
    refine ⟨h.1.handle D hn, ?_⟩
    obtain ⟨hk, _, _, hi⟩ := nextEvent_le hn h.1.dues.1
    have hr := h.2
    obtain ⟨h1, h2, _, _, h3⟩ := clockAfter_fields t e m
    unfold RateOk at hr ⊢
    rw [(handle_clock D t e m).1, h1, h2, h3]
    cases hk with
    | iterEnd h' =>
      rw [h'] at hr
      simpa using hr
    | due d ds h' ht _ =>
      cases hie : m.clock.iterEnd with
      | none =>
        rw [hie] at hr
        have := h.1.dues.2 d (by simp [h'])
        exact Nat.le_trans hr (Nat.mul_le_mul_left R (by omega))
      | some x => rw [hie] at hr; simpa using hr
    | arrival h' =>
      cases hie : m.clock.iterEnd with
      | none =>
        rw [hie] at hr
        exact Nat.le_trans hr (Nat.mul_le_mul_left R (h.1.arrival _ _ h'))
      | some x => rw [hie] at hr; simpa using hr
  · intro m h hn _ hi
    have hr : m.clock.served * T ≤ R * m.clock.now := by
      have := h.2
      unfold RateOk at this
      rw [hn] at this
      exact this
    rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs] at hi ⊢
    · exact absurd hn hi
    · rw [hbuild] at hi
      exact absurd hn hi
    · simpa [beginIteration, recordOf, hbuild, Machine.now] using hr

end Serq
