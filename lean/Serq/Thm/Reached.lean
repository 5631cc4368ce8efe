import Serq.Claim
/-!
# Reaching a claim's premise

A claim about every iteration says nothing when no path of its family has one, and a claim at the end
says nothing when no path comes to an end. These two rules turn one evaluated run into the statement that
some path does.
-/

namespace Serq

/-- The machine after `n` events. -/
def after (D : Deployment) : Nat → Machine → Machine
  | 0, m => m
  | n + 1, m => after D n (step D m)

/-- Every machine after some events of a path is on the path. -/
theorem reach_after {D : Deployment} {w : Workload} {P : Block} (n : Nat) {m : Machine}
    (h : Reach D w P m) : Reach D w P (after D n m) := by
  induction n generalizing m with
  | zero => exact h
  | succ n ih => exact ih h.step

/-- Whether a machine runs an iteration, its fuel not spent. -/
def iterates (m : Machine) : Bool := !m.outOfFuel && m.clock.iterEnd.isSome

/-- Whether sessions have come and all have ended, the fuel not spent. -/
def ended (m : Machine) : Bool :=
  !m.outOfFuel && decide (0 < m.sess.size) &&
    decide (∀ i, i < m.sess.size → (m.at_ i).status = .ended)

/-- One evaluated run that comes to an iteration shows that the family has one. -/
theorem someIteration_of {D : Deployment} {P : Block} {W : Workload → Prop} (w : Workload) (n : Nat)
    (hw : W w) (h : iterates (after D n (start D w P)) = true) :
    SomeIteration D P W fun _ => True := by
  simp only [iterates, Bool.and_eq_true, Bool.not_eq_true'] at h
  refine ⟨w, hw, _, reach_after n .start, h.1, ?_, trivial⟩
  intro hn
  rw [hn] at h
  exact absurd h.2 (by simp)

/-- Some path of the family comes to an end at which all of its sessions, one at least, have ended. -/
def SomeEnd (D : Deployment) (P : Block) (W : Workload → Prop) : Prop :=
  ∃ w, W w ∧ ∃ m, Reach D w P m ∧ m.outOfFuel = false ∧ 0 < m.sess.size ∧
    ∀ i, i < m.sess.size → (m.at_ i).status = .ended

/-- One evaluated run that ends shows that some path of the family does. -/
theorem someEnd_of {D : Deployment} {P : Block} {W : Workload → Prop} (w : Workload) (n : Nat)
    (hw : W w) (h : ended (after D n (start D w P)) = true) : SomeEnd D P W := by
  simp only [ended, Bool.and_eq_true, Bool.not_eq_true', decide_eq_true_eq] at h
  exact ⟨w, hw, _, reach_after n .start, h.1.1, h.1.2, h.2⟩

end Serq
