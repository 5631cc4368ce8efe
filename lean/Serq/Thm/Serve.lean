/-!
# Serving order: admission order is decodes first

Residents as a list of remaining prefill work in admission order, where 0 is a decode. A greedy step
gives a decode one token and a prefill as much as is left. Without a cap per request, decodes always
stand before the prefills that are not finished, so serving in admission order is serving decodes first
(Sarathi-Serve's stall-free order); with a cap this fails.
-/

namespace Serq.Serve

/-- A greedy step with `left` tokens: a decode (0) takes one token and stays a decode, a prefill takes
what is left of the budget. -/
def serve (left : Nat) : List Nat → List Nat
  | [] => []
  | 0 :: l => 0 :: serve (left - 1) l
  | (r + 1) :: l => (r + 1 - left) :: serve (left - (r + 1)) l

/-- The same with at most `c` tokens a request. -/
def serveCap (c left : Nat) : List Nat → List Nat
  | [] => []
  | 0 :: l => 0 :: serveCap c (left - 1) l
  | (r + 1) :: l => (r + 1 - min left c) :: serveCap c (left - min (r + 1) (min left c)) l

/-- Only prefills. -/
def Positive (l : List Nat) : Prop := ∀ r ∈ l, 0 < r

/-- Decodes before prefills: after the first positive entry everything is positive. -/
def Shape : List Nat → Prop
  | [] => True
  | 0 :: l => Shape l
  | (_ + 1) :: l => Positive l

/-- The decodes, then the prefills, each in their order. -/
def decodeFirst (l : List Nat) : List Nat := l.filter (· == 0) ++ l.filter (· != 0)

/-- A list of prefills has decodes before prefills. -/
theorem shape_of_positive {l : List Nat} (h : Positive l) : Shape l := by
  cases l with
  | nil => trivial
  | cons r l =>
    cases r with
    | zero => exact absurd (h 0 (by simp)) (by simp)
    | succ r => exact fun x hx => h x (by simp [hx])

/-- Without budget every list stays as it is. -/
theorem serve_zero_left (l : List Nat) : serve 0 l = l := by
  induction l with
  | nil => rfl
  | cons r l ih => cases r <;> simp [serve, ih]

/-- Serving a list of prefills leaves decodes before prefills: the first finish, one may be cut, the
rest wait. -/
theorem serve_pos {l : List Nat} (h : Positive l) (left : Nat) : Shape (serve left l) := by
  induction l generalizing left with
  | nil => trivial
  | cons r l ih =>
    have hl : Positive l := fun x hx => h x (by simp [hx])
    cases r with
    | zero => exact absurd (h 0 (by simp)) (by simp)
    | succ r =>
      unfold serve
      by_cases hr : r + 1 ≤ left
      · have : r + 1 - left = 0 := by omega
        rw [this]
        exact ih hl _
      · obtain ⟨k, hk⟩ : ∃ k, r + 1 - left = k + 1 := ⟨r - left, by omega⟩
        have h0 : left - (r + 1) = 0 := by omega
        rw [hk, h0, serve_zero_left]
        exact hl

/-- A greedy step keeps decodes before prefills. -/
theorem serve_preserves_shape {l : List Nat} (h : Shape l) (left : Nat) : Shape (serve left l) := by
  induction l generalizing left with
  | nil => trivial
  | cons r l ih =>
    cases r with
    | zero => exact ih h _
    | succ r =>
      refine serve_pos (l := (r + 1) :: l) ?_ left
      intro x hx
      rcases List.mem_cons.mp hx with rfl | hx
      · omega
      · exact h x hx

/-- A list of prefills has no decodes to put first. -/
theorem filter_positive {l : List Nat} (h : Positive l) :
    l.filter (· == 0) = [] ∧ l.filter (· != 0) = l := by
  constructor
  · exact List.filter_eq_nil_iff.mpr fun x hx => by simpa using Nat.ne_of_gt (h x hx)
  · exact List.filter_eq_self.mpr fun x hx => by simpa using Nat.ne_of_gt (h x hx)

/-- A list with decodes before prefills equals its stable partition. -/
theorem decodeFirst_eq_self {l : List Nat} (h : Shape l) : decodeFirst l = l := by
  induction l with
  | nil => rfl
  | cons r l ih =>
    cases r with
    | zero =>
      have := ih h
      simp_all [decodeFirst]
    | succ r =>
      have hl := filter_positive (l := l) h
      simp [decodeFirst, hl.1, hl.2]

/-- With decodes before prefills, serving in admission order is serving decodes first. -/
theorem serve_eq_decode_first {l : List Nat} (h : Shape l) (left : Nat) :
    serve left l = serve left (decodeFirst l) := by
  rw [decodeFirst_eq_self h]

/-- A new prefill at the end keeps decodes before prefills. -/
theorem shape_append_prefill {l : List Nat} (h : Shape l) {r : Nat} (hr : 0 < r) :
    Shape (l ++ [r]) := by
  induction l with
  | nil =>
    cases r with
    | zero => omega
    | succ r => exact fun x hx => by simp at hx
  | cons a l ih =>
    cases a with
    | zero => exact ih h
    | succ a =>
      intro x hx
      rcases List.mem_append.mp hx with hx | hx
      · exact h x hx
      · rw [List.mem_singleton.mp hx]
        exact hr

/-- A cap per request breaks the order: 5 and 3 tokens, budget 8, cap 4 give a decode behind a
prefill. -/
theorem chunk_cap_breaks_shape :
    Shape [5, 3] ∧ serveCap 4 8 [5, 3] = [1, 0] ∧ ¬ Shape (serveCap 4 8 [5, 3]) := by
  refine ⟨?_, by decide, ?_⟩
  · intro x hx
    simp at hx
    omega
  · intro h
    have h' : Positive [0] := h
    exact absurd (h' 0 (by simp)) (by simp)

end Serq.Serve
