import Serq.Exec
/-!
# Sums over lists

What the papers' proofs add up, and what does not change a sum.
-/

namespace Serq.Papers

/-- The sum of `f` over a list. -/
def sumBy {α : Type} (f : α → Nat) : List α → Nat
  | [] => 0
  | a :: l => f a + sumBy f l

/-- The sum over two lists together is the sum of the sums. -/
theorem sumBy_append {α : Type} (f : α → Nat) (a b : List α) :
    sumBy f (a ++ b) = sumBy f a + sumBy f b := by
  induction a with
  | nil => simp [sumBy]
  | cons x a ih => simp only [List.cons_append, sumBy, ih]; omega

/-- Terms that are the same give the same sum. -/
theorem sumBy_congr {α : Type} {f g : α → Nat} {l : List α} (h : ∀ a ∈ l, f a = g a) :
    sumBy f l = sumBy g l := by
  induction l with
  | nil => rfl
  | cons x l ih => simp only [sumBy, h x (by simp), ih fun a ha => h a (by simp [ha])]

/-- A sum does not depend on the order. -/
theorem sumBy_perm {α : Type} (f : α → Nat) {a b : List α} (h : a.Perm b) :
    sumBy f a = sumBy f b := by
  induction h with
  | nil => rfl
  | cons x _ ih => simp [sumBy, ih]
  | swap x y l => simp only [sumBy]; omega
  | trans _ _ ih1 ih2 => rw [ih1, ih2]

/-- A list is what is taken out of it and the others. -/
theorem perm_removeOne {i : Nat} {l : List Nat} (h : i ∈ l) : l.Perm (i :: removeOne i l) := by
  induction l with
  | nil => simp at h
  | cons j l ih =>
    unfold removeOne
    split
    · next hj => rw [hj]
    · next hj =>
      have hi : i ∈ l := by
        rcases List.mem_cons.mp h with h | h
        · exact absurd h.symm hj
        · exact h
      exact ((ih hi).cons j).trans (.swap i j _)

/-- A job inserted among others is one more. -/
theorem perm_insertJob (j : Job) (l : List Job) : (insertJob j l).Perm (j :: l) := by
  induction l with
  | nil => exact .refl _
  | cons x l ih =>
    unfold insertJob
    split
    · exact (ih.cons x).trans (.swap j x l)
    · exact .refl _

/-- A permutation has no element twice when the other has none. -/
theorem nodup_perm {α : Type} {a b : List α} (h : a.Perm b) (hb : b.Nodup) : a.Nodup :=
  (h.symm.pairwise_iff (fun h' => h'.symm)).mp hb

/-- A list is no longer than a sum of positive terms over it. -/
theorem length_le_sumBy {α : Type} {f : α → Nat} {l : List α} (h : ∀ a ∈ l, 1 ≤ f a) :
    l.length ≤ sumBy f l := by
  induction l with
  | nil => simp
  | cons a l ih =>
    have h1 := h a (by simp)
    have h2 := ih fun x hx => h x (by simp [hx])
    simp only [List.length_cons, sumBy]
    omega

/-- A list without repetitions within another has no greater sum. -/
theorem sumBy_le_of_subset (f : Nat → Nat) {a : List Nat} (hn : a.Nodup) :
    ∀ {b : List Nat}, (∀ k ∈ a, k ∈ b) → sumBy f a ≤ sumBy f b := by
  induction a with
  | nil => intro b _; exact Nat.zero_le _
  | cons x a ih =>
    intro b h
    have hp := perm_removeOne (h x (by simp))
    rw [List.nodup_cons] at hn
    have hrest : ∀ k ∈ a, k ∈ removeOne x b := by
      intro k hk
      rcases List.mem_cons.mp (hp.mem_iff.mp (h k (by simp [hk]))) with h' | h'
      · exact absurd (h' ▸ hk) hn.1
      · exact h'
    have := ih hn.2 hrest
    rw [sumBy_perm f hp]
    simp only [sumBy]
    omega

/-- Terms that are no greater give no greater a sum. -/
theorem sumBy_le {α : Type} {f g : α → Nat} {l : List α} (h : ∀ a ∈ l, f a ≤ g a) :
    sumBy f l ≤ sumBy g l := by
  induction l with
  | nil => exact Nat.le_refl _
  | cons x l ih =>
    have h1 := h x (by simp)
    have h2 := ih fun a ha => h a (by simp [ha])
    simp only [sumBy]
    omega

end Serq.Papers
