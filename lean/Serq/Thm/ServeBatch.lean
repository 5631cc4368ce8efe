import Serq.Thm.Serve
import Serq.Thm.Fill
/-!
# The serving-order theorem, about the batches that are built

`Serve` speaks of lists of remaining work. Here the executable iteration is connected to it: what the
residents have left after a batch is what `serve` gives, so every iteration keeps decodes before
prefills and serves as if decodes came first.
-/

namespace Serq

/-- A resident as remaining prefill work; 0 is a decode, or a prefill that has just finished. -/
def remOf (j : Job) : Nat :=
  match j.mode with
  | .Decode => 0
  | _ => j.left

/-- The residents as remaining prefill work, in admission order. -/
def rems (js : List Job) : List Nat := js.map remOf

/-- No session has two jobs. -/
def DistinctOwners : List Job → Prop
  | [] => True
  | j :: js => (∀ x ∈ js, x.owner ≠ j.owner) ∧ DistinctOwners js

/-- A batch gives nothing to a session that it does not contain. -/
theorem tokensOf_absent {i : Nat} {l : List Entry} (h : ∀ e ∈ l, e.owner ≠ i) : tokensOf i l = 0 := by
  induction l with
  | nil => rfl
  | cons e l ih =>
    simp [tokensOf, h e (by simp), ih fun x hx => h x (by simp [hx])]

/-- The greedy batch contains only residents. -/
theorem fillBatch_owner {D : Deployment} {m : Machine} {cap left : Nat} {js : List Job} {e : Entry}
    (h : e ∈ fillBatch D m cap left js) : ∃ j ∈ js, j.owner = e.owner := by
  induction js generalizing left with
  | nil => simp [fillBatch] at h
  | cons j js ih =>
    unfold fillBatch at h
    split at h
    · obtain ⟨x, hx, hxe⟩ := ih h
      exact ⟨x, by simp [hx], hxe⟩
    · rcases List.mem_cons.mp h with rfl | h
      · exact ⟨j, by simp, rfl⟩
      · obtain ⟨x, hx, hxe⟩ := ih h
        exact ⟨x, by simp [hx], hxe⟩

/-- Taking the batch off the other residents does not look at an entry that is not theirs. -/
theorem applyBatch_cons {e : Entry} {l : List Entry} {js : List Job}
    (h : ∀ x ∈ js, x.owner ≠ e.owner) : applyBatch (e :: l) js = applyBatch l js := by
  induction js with
  | nil => rfl
  | cons j js ih =>
    have hj : ¬ e.owner = j.owner := fun he => h j (by simp) he.symm
    simp [applyBatch, tokensOf, hj, ih fun x hx => h x (by simp [hx])]

/-- An empty batch leaves everybody as they are. -/
theorem applyBatch_nil (js : List Job) : applyBatch [] js = js := by
  induction js with
  | nil => rfl
  | cons j js ih => simp [applyBatch, tokensOf, ih]

/-- After the greedy batch, without a chunk cap, the residents have left what `serve` leaves. -/
theorem rems_applyBatch (D : Deployment) (m : Machine) (left : Nat) {js : List Job}
    (hd : DistinctOwners js) (hl : ∀ j ∈ js, 0 < j.left) :
    rems (applyBatch (fillBatch D m 0 left js) js) = Serve.serve left (rems js) := by
  induction js generalizing left with
  | nil => rfl
  | cons j js ih =>
    obtain ⟨hj, hd⟩ := hd
    have hl' : ∀ x ∈ js, 0 < x.left := fun x hx => hl x (by simp [hx])
    have hj0 : 0 < j.left := hl j (by simp)
    cases left with
    | zero => rw [fillBatch_zero, applyBatch_nil, Serve.serve_zero_left]
    | succ left =>
      have absent : ∀ l', tokensOf j.owner (fillBatch D m 0 l' js) = 0 := fun l' =>
        tokensOf_absent fun e he heq => by
          obtain ⟨x, hx, hxe⟩ := fillBatch_owner he
          exact hj x hx (hxe.trans heq)
      have h0 : min (want 0 j) (left + 1) ≠ 0 := by
        have : 0 < want 0 j := by
          unfold want
          split
          · split <;> omega
          · simpa using hj0
        omega
      simp only [fillBatch, if_neg h0, applyBatch, rems, List.map_cons]
      rw [applyBatch_cons (e := plainEntry D m j _) hj]
      have ih' := ih (left + 1 - min (want 0 j) (left + 1)) hd hl'
      simp only [rems] at ih'
      rw [ih']
      have e1 : tokensOf j.owner (plainEntry D m j (min (want 0 j) (left + 1)) ::
          fillBatch D m 0 (left + 1 - min (want 0 j) (left + 1)) js) =
            min (want 0 j) (left + 1) := by
        simp [tokensOf, plainEntry, absent]
      rw [e1]
      by_cases hm : j.mode = .Decode
      · have hw : want 0 j = 1 := by simp [want, hm]; omega
        simp [remOf, hm, hw, Serve.serve]
      · have hw : want 0 j = j.left := by
          unfold want
          split
          · next h => exact absurd h hm
          · rfl
        have hr : ∀ x, remOf { j with left := x } = x := fun x => by
          unfold remOf
          split
          · next h => exact absurd h hm
          · rfl
        obtain ⟨r, hr'⟩ : ∃ r, j.left = r + 1 := ⟨j.left - 1, by omega⟩
        have e3 : remOf j = r + 1 := by rw [← hr']; exact hr j.left
        rw [hr, e3, hw, hr']
        simp only [Serve.serve]
        congr 1
        · omega
        · congr 1
          omega

/-- An iteration without a chunk cap, growth or admission keeps decodes before prefills, and leaves
what serving the decodes first would leave. -/
theorem iteration_decode_first {D : Deployment} (hs : D.serve = []) (ho : D.only = none) {m : Machine}
    (hi : m.clock.iterEnd = none) (hg : ∀ j ∈ m.jobs, j.growing = none)
    (hq : engineQueue m D.pools 0 = none) (hd : DistinctOwners m.jobs) (hl : ∀ j ∈ m.jobs, 0 < j.left)
    (hshape : Serve.Shape (rems m.jobs)) :
    let m' := buildBatch D 0 m
    rems (applyBatch m'.plan.batch m'.jobs) =
        Serve.serve D.budget (Serve.decodeFirst (rems m.jobs)) ∧
      Serve.Shape (rems (applyBatch m'.plan.batch m'.jobs)) := by
  obtain ⟨h1, h2⟩ := buildBatch_eq_fill_all hs ho 0 hi hg hq
  simp only
  rw [h1, h2, rems_applyBatch D m D.budget hd hl, Serve.decodeFirst_eq_self hshape]
  exact ⟨rfl, Serve.serve_preserves_shape hshape _⟩

end Serq
