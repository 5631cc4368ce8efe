import Serq.Thm.Blocks
import Serq.Thm.Fill
/-!
# Work conservation

Without a predicate, without pools that the engine admits, and for a program whose text grows nothing,
every iteration's batch is the greedy fill of all residents, so it is full or holds all there is to do.
-/

namespace Serq

/-- What the start of an iteration leaves in the record, when the batch is the greedy fill of the
residents that the predicate lets through. -/
theorem startIteration_fill {D : Deployment} (hs : D.serve = []) {m : Machine}
    (hi : m.clock.iterEnd = none) (hg : ∀ j ∈ m.jobs, j.growing = none)
    (hq : engineQueue m D.pools 0 = none) (hne : (startIteration D m).clock.iterEnd ≠ none) :
    let cap := chunkCap D m
    let batch := fillBatch D m cap D.budget (letThrough D m m.jobs)
    let r := (startIteration D m).clock.last
    r.start = m.clock.now ∧ r.served = m.clock.served ∧ r.arrived = m.clock.arrived ∧
    r.tokens = sumTokens batch ∧ r.decoders = (statsOf batch).decoders ∧
    r.residents = m.jobs.length ∧ r.demand = sumWant cap m.jobs := by
  have hb := buildBatch_eq_fill hs (chunkCap D m) hi hg hq
  simp only
  rcases startIteration_cases D m with h | ⟨h, _, _⟩ | h <;> rw [h] at hne ⊢
  · exact absurd hi hne
  · rw [hb] at hne
    exact absurd hi hne
  · simp only [beginIteration, recordOf, hb, statsOf_tokens]
    exact ⟨trivial, trivial, trivial, trivial, trivial, trivial, trivial⟩

/-- Every iteration of a program that grows nothing, on an engine without a predicate, serving keys or
pools of its own, serves the whole budget or everything that its residents could take. -/
theorem work_conserving {D : Deployment} {P : Block} {W : Workload → Prop} (hs : D.serve = [])
    (ho : D.only = none) (hp : noEnginePools D) (hP : P.grows = false) :
    EveryIteration D P W fun r => r.tokens = min D.budget r.demand := by
  refine every_iteration_of (BlocksOk (fun b => b.grows = false))
    (fun w _ => BlocksOk.initial closed_grows hP D w) (fun _ h => h.settle closed_grows D _)
    (fun _ h _ => h.startIteration closed_grows D) (fun _ t _ e h _ => h.handle D t e) ?_
  intro m h hi _ hne
  have hf := startIteration_fill hs hi (jobs_not_growing h) (engineQueue_none m hp 0) hne
  simp only at hf
  obtain ⟨_, _, _, ht, _, _, hd⟩ := hf
  rw [ht, hd, letThrough_all ho, sumTokens_fillBatch]

end Serq
