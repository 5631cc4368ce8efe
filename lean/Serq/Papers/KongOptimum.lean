import Serq.Papers.KongMath
/-!
# No schedule completes a burst earlier than the memory allows

Proposition 3.1 of Kong, Qi, Ye and Zhou: with memory `M`, the completion times of every feasible schedule
add up to at least the prefix sums of the volumes over `M`. Nothing here speaks of a serving system: a
schedule is a list of requests with their starts.
-/

namespace Serq.Papers.KongMath

/-- A request, and the step after which a schedule starts it. -/
structure Start where
  s : Nat
  o : Nat
  x : Nat

/-- What a request holds in step `t`: its prompt and what it has put out. -/
def Start.memory (r : Start) (t : Nat) : Nat :=
  if r.x < t ∧ t ≤ r.x + r.o then r.s + (t - r.x) else 0

/-- The volume of a request. -/
def Start.vol (r : Start) : Nat := volume r.s r.o

/-- When a request is complete. -/
def Start.completion (r : Start) : Nat := r.x + r.o

/-- What the requests of a schedule hold in step `t`. -/
def memoryAt : List Start → Nat → Nat
  | [], _ => 0
  | r :: l, t => r.memory t + memoryAt l t

/-- In no step does a schedule hold more than `M`. -/
def Feasible (M : Nat) (l : List Start) : Prop := ∀ t, memoryAt l t ≤ M

/-- The total completion time of a schedule. -/
def totalCompletion : List Start → Nat
  | [] => 0
  | r :: l => r.completion + totalCompletion l

/-- The sum of `f` over the steps 1 to `c`. -/
def upTo (f : Nat → Nat) : Nat → Nat
  | 0 => 0
  | c + 1 => upTo f c + f (c + 1)

/-- The sum over steps of a sum is the sum of the sums. -/
theorem upTo_add (f g : Nat → Nat) (c : Nat) :
    upTo (fun t => f t + g t) c = upTo f c + upTo g c := by
  induction c with
  | zero => rfl
  | succ c ih => simp only [upTo, ih]; omega

/-- At most `M` in every step is at most `M` times the steps in all. -/
theorem upTo_le {f : Nat → Nat} {M : Nat} (h : ∀ t, f t ≤ M) (c : Nat) : upTo f c ≤ M * c := by
  induction c with
  | zero => simp [upTo]
  | succ c ih =>
    have := h (c + 1)
    simp only [upTo, Nat.mul_add, Nat.mul_one]
    omega

/-- What a request has held up to a step, in memory times steps. -/
theorem upTo_memory (r : Start) (c : Nat) :
    upTo r.memory c = memoryOver r.s (min (c - r.x) r.o) := by
  induction c with
  | zero => simp [upTo, memoryOver]
  | succ c ih =>
    simp only [upTo, ih, Start.memory]
    by_cases h1 : r.x < c + 1
    · by_cases h2 : c + 1 ≤ r.x + r.o
      · have e1 : min (c - r.x) r.o = c - r.x := by omega
        have e2 : min (c + 1 - r.x) r.o = c - r.x + 1 := by omega
        have e3 : c + 1 - r.x = c - r.x + 1 := by omega
        rw [if_pos ⟨h1, h2⟩, e1, e2, memoryOver, e3]
      · have e1 : min (c - r.x) r.o = r.o := by omega
        have e2 : min (c + 1 - r.x) r.o = r.o := by omega
        rw [if_neg (fun h => h2 h.2), e1, e2, Nat.add_zero]
    · have e1 : min (c - r.x) r.o = 0 := by omega
      have e2 : min (c + 1 - r.x) r.o = 0 := by omega
      rw [if_neg (fun h => h1 h.1), e1, e2, Nat.add_zero]

/-- Requests that are all complete by step `c` have held their volumes by then. -/
theorem upTo_memoryAt {l : List Start} {c : Nat} (h : ∀ r ∈ l, r.completion ≤ c) :
    upTo (memoryAt l) c = sumOf (l.map Start.vol) := by
  induction l with
  | nil =>
    have : memoryAt [] = fun _ => 0 := rfl
    rw [this]
    clear this h
    induction c with
    | zero => rfl
    | succ c ih => simpa [upTo, sumOf] using ih
  | cons r l ih =>
    have h1 : r.x + r.o ≤ c := h r (by simp)
    have hm : memoryAt (r :: l) = fun t => r.memory t + memoryAt l t := rfl
    have h2 : min (c - r.x) r.o = r.o := by omega
    rw [hm, upTo_add, ih fun y hy => h y (by simp [hy]), upTo_memory, h2, memoryOver_eq]
    rfl

/-- Requests of a feasible schedule that are all complete by step `c` have a total volume of at most
`M * c`. -/
theorem done_le {M c : Nat} {l : List Start} (hf : Feasible M l) (h : ∀ r ∈ l, r.completion ≤ c) :
    sumOf (l.map Start.vol) ≤ M * c := by
  rw [← upTo_memoryAt h]
  exact upTo_le hf c

/-- What a schedule holds does not depend on the order in which its requests are listed. -/
theorem memoryAt_perm {a b : List Start} (h : a.Perm b) (t : Nat) : memoryAt a t = memoryAt b t := by
  induction h with
  | nil => rfl
  | cons x _ ih => simp [memoryAt, ih]
  | swap x y l => simp only [memoryAt]; omega
  | trans _ _ ih1 ih2 => rw [ih1, ih2]

/-- The total completion time does not depend on the order in which the requests are listed. -/
theorem totalCompletion_perm {a b : List Start} (h : a.Perm b) :
    totalCompletion a = totalCompletion b := by
  induction h with
  | nil => rfl
  | cons x _ ih => simp [totalCompletion, ih]
  | swap x y l => simp only [totalCompletion]; omega
  | trans _ _ ih1 ih2 => rw [ih1, ih2]

/-- Some request completes last. -/
theorem exists_last (l : List Start) (h : l ≠ []) :
    ∃ r l', l.Perm (r :: l') ∧ ∀ y ∈ l, y.completion ≤ r.completion := by
  induction l with
  | nil => exact absurd rfl h
  | cons a l ih =>
    cases hl : l with
    | nil => exact ⟨a, [], .refl _, by simp⟩
    | cons b bs =>
      rw [← hl]
      obtain ⟨r, l', hp, hmax⟩ := ih (by simp [hl])
      by_cases hc : r.completion ≤ a.completion
      · refine ⟨a, l, .refl _, ?_⟩
        intro y hy
        rcases List.mem_cons.mp hy with rfl | hy
        · exact Nat.le_refl _
        · exact Nat.le_trans (hmax y hy) hc
      · refine ⟨r, a :: l', (hp.cons a).trans (.swap r a l'), ?_⟩
        intro y hy
        rcases List.mem_cons.mp hy with rfl | hy
        · omega
        · exact hmax y hy

/-- Put into a list in descending order, a value adds at most the sum that it would add in front. -/
theorem suffixTotal_insertDown_le (v : Nat) (l : List Nat) :
    suffixTotal (insertDown v l) ≤ suffixTotal l + (v + sumOf l) := by
  induction l with
  | nil => simp [insertDown, suffixTotal, sumOf]
  | cons u us ih =>
    unfold insertDown
    split
    · simp only [suffixTotal, sumOf]; omega
    · simp only [suffixTotal, sumOf, sumOf_insertDown]
      omega

/-- One value more adds at most the sum of all to the sums of the `k` smallest. -/
theorem prefixTotalOf_cons_le (v : Nat) (l : List Nat) :
    prefixTotalOf (v :: l) ≤ prefixTotalOf l + (v + sumOf l) := by
  have h := suffixTotal_insertDown_le v (sortDown l)
  rw [sumOf_sortDown] at h
  exact h

/-- The prefix sums do not depend on the order in which the values are given. -/
theorem prefixTotalOf_perm {a b : List Nat} (h : a.Perm b) : prefixTotalOf a = prefixTotalOf b := by
  unfold prefixTotalOf
  rw [sortDown_perm h]

/-- No feasible schedule has a total completion time below the prefix sums of its volumes over the
memory: Proposition 3.1. -/
theorem opt_lower_bound {M : Nat} (n : Nat) : ∀ l : List Start, l.length = n → Feasible M l →
    prefixTotalOf (l.map Start.vol) ≤ M * totalCompletion l := by
  induction n with
  | zero =>
    intro l hl _
    rw [List.length_eq_zero_iff.mp hl]
    exact Nat.zero_le _
  | succ n ih =>
    intro l hl hf
    have hne : l ≠ [] := by
      intro h
      rw [h] at hl
      simp at hl
    obtain ⟨r, l', hp, hmax⟩ := exists_last l hne
    have hdone := done_le hf hmax
    have hlen : l'.length = n := by
      have := hp.length_eq
      simp only [List.length_cons] at this
      omega
    have hf' : Feasible M l' := by
      intro t
      have h1 := hf t
      rw [memoryAt_perm hp, memoryAt] at h1
      omega
    have hrest := ih l' hlen hf'
    have hsum : sumOf (l.map Start.vol) = r.vol + sumOf (l'.map Start.vol) := by
      rw [← sumOf_sortDown, sortDown_perm (hp.map Start.vol), sumOf_sortDown]
      rfl
    have hins := prefixTotalOf_cons_le r.vol (l'.map Start.vol)
    rw [prefixTotalOf_perm (hp.map Start.vol), totalCompletion_perm hp, List.map_cons,
      totalCompletion, Nat.mul_add]
    omega

/-- Nobody completes before its output is out. -/
theorem outputs_le (l : List Start) : sumOf (l.map Start.o) ≤ totalCompletion l := by
  induction l with
  | nil => exact Nat.le_refl _
  | cons r l ih =>
    simp only [List.map_cons, sumOf, totalCompletion, Start.completion]
    omega

/-- The two bounds together: `c` times the response is at most `c` times the outputs and twice what
stands ahead, so at most `c + 2 * M` times any feasible schedule's total completion time. -/
theorem competitive {c M response outputs aheads prefixes best : Nat}
    (h1 : c * response ≤ c * outputs + 2 * aheads) (h2 : aheads ≤ prefixes)
    (h3 : prefixes ≤ M * best) (h4 : outputs ≤ best) : c * response ≤ (c + 2 * M) * best := by
  have h5 := Nat.mul_le_mul_left c h4
  rw [Nat.add_mul, Nat.mul_assoc]
  omega

/-- The prefix sums have to be those of the smallest values: with the sums of the largest ones the bound
is false. Two requests without prompts and with outputs 1 and 2, started at once, fit into a memory of
2 and complete after 1 and 2 steps; the sums of the largest volumes are 3 and 4. -/
theorem opt_lower_bound_needs_smallest :
    Feasible 2 [⟨0, 1, 0⟩, ⟨0, 2, 0⟩] ∧ totalCompletion [⟨0, 1, 0⟩, ⟨0, 2, 0⟩] = 3 ∧
      prefixTotalOf ([⟨0, 1, 0⟩, ⟨0, 2, 0⟩].map Start.vol) = 5 ∧ 2 * 3 < 3 + 4 := by
  refine ⟨?_, rfl, by decide, by decide⟩
  intro t
  simp only [memoryAt, Start.memory]
  split <;> split <;> omega

end Serq.Papers.KongMath
