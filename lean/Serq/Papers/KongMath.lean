import Serq.Claim
/-!
# The arithmetic of serving the smallest volume first

Nothing here speaks of a serving system. `ahead l` is what the claim of `kong_svf.sq` writes as
`prefix_total(vol) - total(vol)`: the volumes that stand ahead of everybody when the smallest goes
first, added up. It depends on the values alone, not on their order, and loses exactly
`number of the others × least value` when a least value is taken away.
-/

namespace Serq.Papers.KongMath

/-! ## Sorting down -/

/-- The sum of two lists together is the sum of their sums. -/
theorem sumOf_append (a b : List Nat) : sumOf (a ++ b) = sumOf a + sumOf b := by
  induction a with
  | nil => simp [sumOf]
  | cons x a ih => simp only [List.cons_append, sumOf, ih]; omega

/-- Two values can be put into a descending list in either order. -/
theorem insertDown_comm (a b : Nat) (l : List Nat) :
    insertDown a (insertDown b l) = insertDown b (insertDown a l) := by
  induction l with
  | nil =>
    simp only [insertDown]
    by_cases h1 : b ≤ a
    · by_cases h2 : a ≤ b
      · have h : a = b := by omega
        rw [h]
      · simp [h1, h2]
    · have h2 : a ≤ b := by omega
      simp [h1, h2]
  | cons u us ih =>
    simp only [insertDown]
    by_cases hb : u ≤ b <;> by_cases ha : u ≤ a <;> simp only [hb, ha, if_true, if_false, insertDown]
    · by_cases h1 : b ≤ a
      · by_cases h2 : a ≤ b
        · have h : a = b := by omega
          rw [h]
        · simp [h1, h2]
      · have h2 : a ≤ b := by omega
        simp [h1, h2]
    · have h1 : ¬ b ≤ a := by omega
      simp [h1]
    · have h1 : ¬ a ≤ b := by omega
      simp [h1]
    · rw [ih]

/-- Sorting down does not depend on the order in which the values are given. -/
theorem sortDown_perm {a b : List Nat} (h : a.Perm b) : sortDown a = sortDown b := by
  induction h with
  | nil => rfl
  | cons x _ ih => simp [sortDown, ih]
  | swap x y l => simp only [sortDown]; exact insertDown_comm _ _ _
  | trans _ _ ih1 ih2 => rw [ih1, ih2]

/-- Inserting a value changes the sum by that value. -/
theorem sumOf_insertDown (v : Nat) (l : List Nat) : sumOf (insertDown v l) = v + sumOf l := by
  induction l with
  | nil => rfl
  | cons u us ih =>
    unfold insertDown
    split
    · rfl
    · simp only [sumOf, ih]; omega

/-- Sorting keeps the sum. -/
theorem sumOf_sortDown (l : List Nat) : sumOf (sortDown l) = sumOf l := by
  induction l with
  | nil => rfl
  | cons v l ih => simp [sortDown, sumOf_insertDown, ih, sumOf]

/-- Inserting a value makes a list longer by one. -/
theorem length_insertDown (v : Nat) (l : List Nat) : (insertDown v l).length = l.length + 1 := by
  induction l with
  | nil => rfl
  | cons u us ih =>
    unfold insertDown
    split
    · rfl
    · simp [ih]

/-- Sorting keeps the number of values. -/
theorem length_sortDown (l : List Nat) : (sortDown l).length = l.length := by
  induction l with
  | nil => rfl
  | cons v l ih => simp [sortDown, length_insertDown, ih]

/-- What stands in a list after an insertion is the value or was there before. -/
theorem mem_insertDown {x v : Nat} {l : List Nat} (h : x ∈ insertDown v l) : x = v ∨ x ∈ l := by
  induction l with
  | nil => simpa [insertDown] using h
  | cons u us ih =>
    unfold insertDown at h
    split at h
    · simpa using h
    · rcases List.mem_cons.mp h with h | h
      · exact Or.inr (by simp [h])
      · rcases ih h with h | h
        · exact Or.inl h
        · exact Or.inr (by simp [h])

/-- A sorted list has no other values. -/
theorem mem_sortDown {x : Nat} {l : List Nat} (h : x ∈ sortDown l) : x ∈ l := by
  induction l with
  | nil => exact h
  | cons v l ih =>
    rcases mem_insertDown h with h | h
    · simp [h]
    · exact List.mem_cons_of_mem _ (ih h)

/-- A list in descending order. -/
def Descending : List Nat → Prop
  | [] => True
  | u :: us => (∀ x ∈ us, x ≤ u) ∧ Descending us

/-- Insertion keeps the descending order. -/
theorem descending_insertDown (v : Nat) {l : List Nat} (h : Descending l) :
    Descending (insertDown v l) := by
  induction l with
  | nil => exact ⟨by simp, trivial⟩
  | cons u us ih =>
    unfold insertDown
    split
    · next hv =>
      refine ⟨?_, h⟩
      intro x hx
      rcases List.mem_cons.mp hx with rfl | hx
      · exact hv
      · exact Nat.le_trans (h.1 x hx) hv
    · next hv =>
      refine ⟨?_, ih h.2⟩
      intro x hx
      rcases mem_insertDown hx with rfl | hx
      · omega
      · exact h.1 x hx

/-- Sorting down gives a list in descending order. -/
theorem descending_sortDown (l : List Nat) : Descending (sortDown l) := by
  induction l with
  | nil => trivial
  | cons v l ih => exact descending_insertDown v ih

/-- Values that are all the same add up to their number times that value. -/
theorem sumOf_same {v : Nat} {l : List Nat} (h : ∀ x ∈ l, x = v) : sumOf l = l.length * v := by
  induction l with
  | nil => simp [sumOf]
  | cons u us ih =>
    rw [sumOf, ih fun x hx => h x (by simp [hx]), h u (by simp), List.length_cons, Nat.add_mul]
    omega

/-- A value no greater than all others, put into a descending list, adds itself once for every value
there and once for itself. -/
theorem suffixTotal_insertDown {v : Nat} {l : List Nat} (hd : Descending l) (h : ∀ x ∈ l, v ≤ x) :
    suffixTotal (insertDown v l) = suffixTotal l + (l.length + 1) * v := by
  induction l with
  | nil => simp [insertDown, suffixTotal, sumOf]
  | cons u us ih =>
    have hus : ∀ x ∈ us, v ≤ x := fun x hx => h x (by simp [hx])
    unfold insertDown
    split
    · next huv =>
      have hall : ∀ x ∈ u :: us, x = v := by
        intro x hx
        have h1 := h x hx
        rcases List.mem_cons.mp hx with rfl | hx
        · omega
        · have := hd.1 x hx
          omega
      simp only [suffixTotal, sumOf]
      have hs := sumOf_same hall
      simp only [sumOf] at hs
      rw [hs, Nat.add_mul]
      omega
    · simp only [suffixTotal, sumOf, sumOf_insertDown, ih hd.2 hus, List.length_cons, Nat.add_mul]
      omega

/-! ## What stands ahead -/

/-- The values that stand ahead of each when the least goes first, added up: the sums of the `k`
smallest without their `k`-th. -/
def ahead (l : List Nat) : Nat := prefixTotalOf l - sumOf l

/-- The sums of the `k` smallest add up to no less than the sum of all. -/
theorem sumOf_le_prefixTotalOf (l : List Nat) : sumOf l ≤ prefixTotalOf l := by
  unfold prefixTotalOf
  rw [← sumOf_sortDown l]
  cases sortDown l with
  | nil => exact Nat.le_refl _
  | cons v vs => simp only [suffixTotal]; omega

/-- What stands ahead does not depend on the order in which the values are given. -/
theorem ahead_perm {a b : List Nat} (h : a.Perm b) : ahead a = ahead b := by
  unfold ahead prefixTotalOf
  rw [← sumOf_sortDown a, ← sumOf_sortDown b, sortDown_perm h]

/-- A value no greater than all others stands ahead of each of them once. -/
theorem ahead_cons {v : Nat} {l : List Nat} (h : ∀ x ∈ l, v ≤ x) :
    ahead (v :: l) = ahead l + l.length * v := by
  have h1 := suffixTotal_insertDown (descending_sortDown l) fun x hx => h x (mem_sortDown hx)
  have h2 := sumOf_le_prefixTotalOf l
  unfold ahead
  unfold prefixTotalOf at h2 ⊢
  rw [sortDown, h1, length_sortDown, sumOf, Nat.add_mul]
  omega

/-! ## One request's memory over its run -/

/-- The volume of a request: the memory that it holds, summed over its decode steps. -/
def volume (s o : Nat) : Nat := s * o + (o * o + o) / 2

/-- `n * n + n` is even. -/
theorem square_even (n : Nat) : 2 * ((n * n + n) / 2) = n * n + n := by
  have h : (n * n + n) % 2 = 0 := by
    rcases Nat.mod_two_eq_zero_or_one n with h | h <;> simp [Nat.add_mod, Nat.mul_mod, h]
  omega

/-- The peak of a request, held for its whole run, and its output together are at most twice its
volume. -/
theorem peak_le_volume (s o : Nat) : (s + o) * o + o ≤ 2 * volume s o := by
  unfold volume
  have := square_even o
  rw [Nat.mul_add, this, Nat.add_mul]
  omega

/-- The memory of a request in the first `n` of its steps: `s + 1`, `s + 2`, … -/
def memoryOver (s : Nat) : Nat → Nat
  | 0 => 0
  | n + 1 => memoryOver s n + (s + (n + 1))

/-- The memory of a request over all of its steps is its volume. -/
theorem memoryOver_eq (s o : Nat) : memoryOver s o = volume s o := by
  have h : 2 * memoryOver s o = 2 * (s * o) + (o * o + o) := by
    induction o with
    | zero => rfl
    | succ n ih =>
      simp only [memoryOver, Nat.mul_add, Nat.add_mul, Nat.mul_one, Nat.one_mul] at ih ⊢
      omega
  have := square_even o
  unfold volume
  omega

/-! ## The two moves of the potential -/

/-- Admission of a request of least volume `v`: its peak times its output is ahead of the `n` others
from now on, instead of twice its volume. -/
theorem admission_move {n R pv v e : Nat} (h : pv ≤ 2 * v) :
    n * (R + pv) + 2 * e ≤ (n + 1) * R + 2 * (e + n * v) := by
  have := Nat.mul_le_mul_left n h
  simp only [Nat.mul_add, Nat.add_mul, Nat.one_mul]
  have h2 : n * (2 * v) = 2 * (n * v) := by rw [Nat.mul_left_comm]
  omega

/-- A step while `n` wait: each waits one step more, and the work of the running ones, weighed with
their peaks, falls by the peaks. -/
theorem step_move {n R R' peaks m : Nat} (hR : R' + peaks = R) (h : n = 0 ∨ m ≤ peaks) :
    m * n + n * R' ≤ n * R := by
  rcases h with h | h
  · simp [h]
  · rw [← hR, Nat.mul_add, Nat.mul_comm m n]
    have := Nat.mul_le_mul_left n h
    omega

end Serq.Papers.KongMath
