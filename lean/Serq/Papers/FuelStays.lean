import Serq.Thm.Path
/-!
# Nothing takes back that fuel ran out

So a machine whose fuel has not run out comes from machines whose fuel had not.
-/

namespace Serq.Papers

variable {D : Deployment} {m : Machine}

/-- That fuel ran out while an instant settled stands after it. -/
theorem fuel_afterSettle (h : (settle D instantFuel m).outOfFuel = true) :
    (afterEvent D m).outOfFuel = true := by
  unfold afterEvent
  simp only
  split
  · exact h
  · split
    · exact h
    · have h2 := (buildBatch_keeps D (chunkCap D (settle D instantFuel m))
        (settle D instantFuel m)).1.fuel h
      rcases startIteration_cases D (settle D instantFuel m) with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
      · exact h
      · exact h2
      · exact h2

/-- What has not run out after an event had not when everything had settled. -/
theorem settle_of_after (h : (afterEvent D m).outOfFuel = false) :
    (settle D instantFuel m).outOfFuel = false := by
  cases hb : (settle D instantFuel m).outOfFuel with
  | false => rfl
  | true => rw [fuel_afterSettle hb] at h; exact absurd h (by simp)

/-- What has not run out after a step had not before it. -/
theorem fuel_of_step (h : (step D m).outOfFuel = false) : m.outOfFuel = false := by
  cases hb : m.outOfFuel with
  | false => rfl
  | true =>
    have h1 : (step D m).outOfFuel = true := by
      unfold step
      split
      · exact hb
      · exact fuel_afterSettle ((same_settle D instantFuel _).fuel ((handle_clock D _ _ m).2 hb))
    rw [h1] at h
    exact absurd h (by simp)

end Serq.Papers
